// SPDX-License-Identifier: Apache-2.0
// A Report file, little-endian:
//
//   "SSREPORT"                     8 bytes
//   columns                        each a serialized report.Column, one after another
//   index                          a serialized report.Index, which says where each column stands
//   trailer                        u64 index offset, u64 index size, u64 CRC-32 of the index, "SSREPORT"
//
// Opening reads the trailer and the index; a column is read when it is asked for. Offsets count
// from the start of the file, sizes are bytes, checksums are CRC-32 as in zlib.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/report.pb.h"

namespace superstep {

inline constexpr std::string_view kReportMagic = "SSREPORT";
inline constexpr int kReportFormatVersion = 1;

// Collects columns, then writes everything at once. Column names are unique; a second column of
// the same name is an internal error.
class ReportWriter {
 public:
  void add_integers(const std::string& name, const std::string& unit, std::span<const std::int64_t> values);
  void add_reals(const std::string& name, const std::string& unit, std::span<const double> values);
  void add_texts(const std::string& name, std::span<const std::string> values);  // unit "text"; equal texts once

  // Fills in the index's format_version and columns and writes the file under a temporary name,
  // renamed when complete: a report is never half there. Throws Error(path) when it cannot be
  // written. May be called again, for another path or index.
  void finish(report::Index index, const std::filesystem::path& path) const;

 private:
  void add(const std::string& name, const std::string& unit, const report::Column& column, std::size_t rows);

  std::string columns_;  // serialized, one after another
  std::vector<report::ColumnEntry> entries_;
};

// A text column: row i is texts[rows[i]].
struct TextColumn {
  std::vector<std::string> texts;
  std::vector<std::uint32_t> rows;

  std::size_t size() const { return rows.size(); }
  const std::string& operator[](std::size_t row) const { return texts[rows[row]]; }
};

// An open report. Keeps its file handle, so that a report that is replaced meanwhile stays whole.
// Whatever is wrong with the file throws Error, whose place names the file and the byte offset:
// foreign, truncated, damaged, or written by a newer program. Not for several threads at once.
class ReportFile {
 public:
  static ReportFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const report::Index& index() const { return index_; }

  bool has_column(std::string_view name) const { return find(name) != nullptr; }
  // Rows as many as the index says. A column that does not exist throws Error with the nearest
  // name; one of another kind (texts for integers) too, unless it has no rows.
  std::vector<std::int64_t> column_integers(std::string_view name) const;
  std::vector<double> column_reals(std::string_view name) const;
  TextColumn column_texts(std::string_view name) const;

  // The same, some thousand rows at a time, so that nothing of a long column but what the caller keeps is in memory. A
  // damaged column is noticed at its end, by Error: what was taken before is worth nothing then.
  std::uint64_t rows(std::string_view name) const;
  void visit_integers(std::string_view name, const std::function<void(std::span<const std::int64_t>)>& take) const;
  // Returns the texts, which rows are less than the size of.
  std::vector<std::string> visit_text_rows(std::string_view name,
                                           const std::function<void(std::span<const std::uint32_t>)>& take) const;

 private:
  struct Visitor;
  explicit ReportFile(std::filesystem::path path) : path_(std::move(path)) {}
  const report::ColumnEntry* find(std::string_view name) const;  // null: no such column
  const report::ColumnEntry& entry(std::string_view name) const;
  void visit(const report::ColumnEntry& entry, Visitor& visitor) const;
  std::string read_bytes(std::uint64_t offset, std::uint64_t size) const;
  void read_trailer_and_index();
  std::string at_byte(std::uint64_t offset) const;

  std::filesystem::path path_;
  mutable std::ifstream file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t index_offset_ = 0;
  report::Index index_;
};

// CRC-32 (IEEE 802.3, as zlib's crc32).
std::uint32_t checksum(std::string_view bytes);

}  // namespace superstep
