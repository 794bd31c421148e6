// SPDX-License-Identifier: Apache-2.0
// Reads machine files into a flat list of values with sources. Bases are read first. Later files override earlier files
// value by value, and the job comes last. For load_machine.cc alone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

// The values of a machine by JSON pointer. Call finish() once all known values were asked for.
class SourcedValues {
 public:
  // Reads the bases of a file, then the file. `label` stands for the file in SourcedRow::file.
  void add_file(const std::string& path, const std::string& label);
  // Overrides values from a job. Plain values are allowed; their source is then the job.
  void add_job(const nlohmann::json& override_object, const std::string& where);

  // Each function returns one value by its JSON pointer, checks unit and range, and adds a row to rows(). A value that
  // is absent, of another kind, or out of range is an Error at the place of the value.
  std::int64_t integer(const std::string& pointer, std::int64_t low, std::int64_t high);
  double fraction(const std::string& pointer);  // in (0, 1]
  bool boolean(const std::string& pointer);
  Bytes bytes(const std::string& pointer, Bytes low);
  Cycles cycles(const std::string& pointer);
  Seconds seconds(const std::string& pointer);
  Hertz hertz(const std::string& pointer);
  BytesPerSecond rate(const std::string& pointer);
  BytesPerCycle rate_per_cycle(const std::string& pointer);
  Watts watts(const std::string& pointer);
  Dollars dollars(const std::string& pointer);

  // Each function returns a value without a source, such as a name or a list.
  std::string text(const std::string& pointer);
  bool flag_or(const std::string& pointer, bool fallback);
  const nlohmann::json* raw_or_null(const std::string& pointer);

  bool has(const std::string& pointer) const;  // true if there is a value at or below the pointer
  // Returns "file#/pointer" of the value, or the path of the last file read if there is no such value.
  std::string place_of(const std::string& pointer) const;
  const std::vector<SourcedRow>& rows() const { return rows_; }
  // Throws Error, with the nearest valid name, if a value was never asked for.
  void finish() const;

 private:
  struct Entry {
    nlohmann::json value;
    std::string source, conflict;
    std::string label;  // of the file, for SourcedRow::file
    std::string place;  // "file#/pointer"
    bool sourced = false;
  };
  void add(const nlohmann::json& object, const std::string& pointer, const std::string& file, const std::string& prefix,
           const std::string& label);
  const Entry& ask(const std::string& pointer);
  [[noreturn]] void fail_missing(const std::string& pointer) const;
  const Entry& ask_sourced(const std::string& pointer);
  // Returns the text of a quantity, to be parsed.
  std::string quantity_text(const std::string& pointer, std::string_view example);
  template <class Q>
  Q in_range(const std::string& pointer, Q found, Q low, Q high) const;

  std::map<std::string, Entry> entries_;
  std::vector<std::string> asked_;
  std::vector<std::string> reading_;  // files being read, innermost last; a base in this list would be a cycle
  std::vector<SourcedRow> rows_;
  std::string last_file_;
};

// Returns the file that a machine name or path stands for. `from` is the file or job that names the machine, `where`
// the place for messages. Throws Error if there is no such machine.
std::string machine_path(const std::string& name, const std::string& from, const std::string& where);

}  // namespace superstep
