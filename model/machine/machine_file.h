// SPDX-License-Identifier: Apache-2.0
// Machine files as a flat list of sourced values: bases are read first, later files override earlier
// ones value by value, the job comes last. Internal to load_machine.cc.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

class SourcedValues {
 public:
  // Reads a file and, before it, its bases.
  void add_file(const std::string& path, const std::string& label);
  // Overrides from a job: plain values are allowed, their source is then the job.
  void add_job(const nlohmann::json& override_object, const std::string& where);

  // Each asks for one value by its JSON pointer, checks unit and range, and notes the row. A value
  // that is absent, of another kind, or out of range is an Error at the place where it stands.
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

  // Unsourced: names and lists.
  std::string text(const std::string& pointer);
  bool flag_or(const std::string& pointer, bool fallback);
  const nlohmann::json* raw_or_null(const std::string& pointer);

  bool has(const std::string& pointer) const;  // a value or anything below it
  // "file#/pointer" of the value, or of the last file read when there is none.
  std::string place_of(const std::string& pointer) const;
  const std::vector<SourcedRow>& rows() const { return rows_; }
  // A value that was never asked for is an Error with the nearest valid name.
  void finish() const;

 private:
  struct Entry {
    nlohmann::json value;
    std::string source, conflict;
    std::string label;  // which file, for SourcedRow
    std::string place;
    bool sourced = false;
  };
  void add(const nlohmann::json& object, const std::string& pointer, const std::string& file, const std::string& prefix,
           const std::string& label);
  const Entry& ask(const std::string& pointer);
  [[noreturn]] void fail_missing(const std::string& pointer) const;
  const Entry& ask_sourced(const std::string& pointer);
  // The text of a quantity, for its parser.
  std::string quantity_text(const std::string& pointer, std::string_view example);
  template <class Q>
  Q in_range(const std::string& pointer, Q found, Q low, Q high) const;

  std::map<std::string, Entry> entries_;
  std::vector<std::string> asked_;
  std::vector<std::string> reading_;  // files being read, innermost last: a base must not lead back here
  std::vector<SourcedRow> rows_;
  std::string last_file_;
};

// The file that a machine name or path stands for; `from` is the file or job that names it.
std::string machine_path(const std::string& name, const std::string& from, const std::string& where);

}  // namespace superstep
