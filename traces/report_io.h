// SPDX-License-Identifier: Apache-2.0
// Writes and reads report files. A report file is little-endian:
//
//   "SSREPORT"                     8 bytes
//   columns                        each a serialized report.Column, one after another
//   index                          a serialized report.Index, with the place of each column
//   trailer                        u64 index offset, u64 index size, u64 CRC-32 of the index, "SSREPORT"
//
// Opening a file reads the trailer and the index. A column is read when asked for. Offsets count from the start of the
// file, sizes are bytes, checksums are CRC-32 as in zlib.
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

// Collects columns, then writes the whole file. Column names are unique. A second column of the same name is an
// InternalError.
class ReportWriter {
 public:
  void add_integers(const std::string& name, const std::string& unit, std::span<const std::int64_t> values);
  void add_reals(const std::string& name, const std::string& unit, std::span<const double> values);
  void add_texts(const std::string& name, std::span<const std::string> values);  // unit "text"; stores each text once

  // Fills in the index's format_version and columns, and writes the file. The file has a temporary name until complete,
  // so a report is never half written. Throws Error(path) if the file cannot be written. May be called again, for
  // another path or index.
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

// An open report. The file stays open, so a report that is replaced meanwhile stays readable. A file that is foreign,
// truncated, damaged, or written by a newer program throws Error, with the file and the byte offset. Not safe for use
// by several threads at once.
class ReportFile {
 public:
  static ReportFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const report::Index& index() const { return index_; }

  bool has_column(std::string_view name) const { return find(name) != nullptr; }
  // Return a whole column, with as many rows as the index says. A column that does not exist throws Error with the
  // nearest name. A column of another type (texts for integers) throws Error unless it has no rows.
  std::vector<std::int64_t> column_integers(std::string_view name) const;
  std::vector<double> column_reals(std::string_view name) const;
  TextColumn column_texts(std::string_view name) const;

  std::uint64_t rows(std::string_view name) const;  // number of rows of a column
  // Calls `take` for all rows of a column, some thousand rows at a time. A long column is never in memory as a whole.
  // Throws Error at the end of a damaged column. The caller must then discard the rows taken before.
  void visit_integers(std::string_view name, const std::function<void(std::span<const std::int64_t>)>& take) const;
  // Calls `take` for all rows of a text column, as visit_integers() does. Returns the texts, which the rows are
  // indices into.
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

// Returns the CRC-32 of the bytes (IEEE 802.3, as zlib's crc32).
std::uint32_t checksum(std::string_view bytes);

}  // namespace superstep
