// SPDX-License-Identifier: Apache-2.0
#include "traces/report_io.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "model/error.h"

namespace superstep {
namespace {

constexpr std::uint64_t kMagicBytes = 8;
constexpr std::uint64_t kTrailerBytes = 32;

void append_u64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t u64_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

// The state of a checksum after more bytes.
std::uint32_t continued(std::uint32_t c, std::string_view bytes) {
  static constexpr auto table = crc_table();
  for (unsigned char byte : bytes) c = table[(c ^ byte) & 0xff] ^ (c >> 8);
  return c;
}

// What a foreign file starts with, printable, for the message.
std::string shown(std::string_view bytes) {
  std::string out = "\"";
  for (unsigned char c : bytes.substr(0, 16)) out += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '.';
  return out + "\"";
}

std::string foreign_hint(std::string_view head) {
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) {
    return "; this looks like JSON: write a report from a job with \"superstep plan JOB.json -o FILE\"";
  }
  return "";
}

// Removes the unfinished file unless it was renamed.
struct TemporaryFile {
  std::filesystem::path path;
  ~TemporaryFile() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
};

}  // namespace

std::uint32_t checksum(std::string_view bytes) { return ~continued(~0u, bytes); }

void ReportWriter::add(const std::string& name, const std::string& unit, const report::Column& column,
                       std::size_t rows) {
  for (const auto& other : entries_) SUPERSTEP_CHECK(other.name() != name, "two columns named " + name);
  const std::string bytes = column.SerializeAsString();
  auto& entry = entries_.emplace_back();
  entry.set_name(name);
  entry.set_unit(unit);
  entry.set_offset(kMagicBytes + columns_.size());
  entry.set_size_bytes(bytes.size());
  entry.set_rows(rows);
  entry.set_crc32(checksum(bytes));
  columns_ += bytes;
}

void ReportWriter::add_integers(const std::string& name, const std::string& unit,
                                std::span<const std::int64_t> values) {
  report::Column column;
  column.mutable_integers()->Reserve(static_cast<int>(values.size()));
  std::uint64_t previous = 0;  // unsigned: differences of far apart values wrap and come back
  for (const std::int64_t value : values) {
    const auto now = static_cast<std::uint64_t>(value);
    column.add_integers(static_cast<std::int64_t>(now - previous));
    previous = now;
  }
  add(name, unit, column, values.size());
}

void ReportWriter::add_reals(const std::string& name, const std::string& unit, std::span<const double> values) {
  report::Column column;
  column.mutable_reals()->Add(values.begin(), values.end());
  add(name, unit, column, values.size());
}

void ReportWriter::add_texts(const std::string& name, std::span<const std::string> values) {
  report::Column column;
  std::map<std::string_view, std::uint32_t> rows;
  for (const std::string& value : values) {
    const auto [it, is_new] = rows.emplace(value, static_cast<std::uint32_t>(rows.size()));
    if (is_new) column.add_texts(value);
    column.add_text_rows(it->second);
  }
  add(name, "text", column, values.size());
}

void ReportWriter::finish(report::Index index, const std::filesystem::path& path) const {
  index.set_format_version(kReportFormatVersion);
  index.mutable_columns()->Assign(entries_.begin(), entries_.end());
  const std::string index_bytes = index.SerializeAsString();
  std::string tail = index_bytes;
  append_u64(tail, kMagicBytes + columns_.size());
  append_u64(tail, index_bytes.size());
  append_u64(tail, checksum(index_bytes));
  tail += kReportMagic;

  TemporaryFile temporary{path.string() + ".tmp" + std::to_string(::getpid())};
  errno = 0;
  std::ofstream out(temporary.path, std::ios::binary);
  out.write(kReportMagic.data(), kReportMagic.size());
  out.write(columns_.data(), static_cast<std::streamsize>(columns_.size()));
  out.write(tail.data(), static_cast<std::streamsize>(tail.size()));
  out.close();
  if (!out) throw Error(path.string(), std::string("cannot be written: ") + std::strerror(errno ? errno : EIO));
  std::error_code failure;
  std::filesystem::rename(temporary.path, path, failure);
  if (failure) throw Error(path.string(), "cannot be written: " + failure.message());
  temporary.path.clear();
}

std::string ReportFile::at_byte(std::uint64_t offset) const {
  return path_.string() + " at byte " + std::to_string(offset);
}

std::string ReportFile::read_bytes(std::uint64_t offset, std::uint64_t size) const {
  std::string bytes(size, '\0');
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file_) throw Error(at_byte(offset), "cannot read " + std::to_string(size) + " bytes: the file became shorter");
  return bytes;
}

ReportFile ReportFile::open(const std::filesystem::path& path) {
  ReportFile report(path);
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) throw Error(path.string(), "is a folder, expected a report file");
  errno = 0;
  report.file_.open(path, std::ios::binary | std::ios::ate);
  if (!report.file_) throw Error(path.string(), std::string("cannot be opened: ") + std::strerror(errno));
  report.file_bytes_ = static_cast<std::uint64_t>(report.file_.tellg());
  report.read_trailer_and_index();
  return report;
}

void ReportFile::read_trailer_and_index() {
  const std::string head = read_bytes(0, std::min<std::uint64_t>(file_bytes_, 64));
  if (head.substr(0, kMagicBytes) != kReportMagic.substr(0, head.size()) || head.empty()) {
    throw Error(at_byte(0), "not a Superstep report: expected \"SSREPORT\", found " +
                                (head.empty() ? "an empty file" : shown(head)) + foreign_hint(head));
  }
  const std::string truncated = "the report is truncated (" + std::to_string(file_bytes_) + " bytes): ";
  if (file_bytes_ < kMagicBytes + kTrailerBytes) {
    throw Error(at_byte(file_bytes_), truncated + "it has no index");
  }
  const std::uint64_t trailer_at = file_bytes_ - kTrailerBytes;
  const std::string trailer = read_bytes(trailer_at, kTrailerBytes);
  if (std::string_view(trailer).substr(24) != kReportMagic) {
    throw Error(at_byte(file_bytes_), truncated + "it does not end with \"SSREPORT\"");
  }
  index_offset_ = u64_at(trailer, 0);
  const std::uint64_t size = u64_at(trailer, 8);
  if (index_offset_ < kMagicBytes || index_offset_ > trailer_at || size != trailer_at - index_offset_ ||
      size > INT_MAX) {
    throw Error(at_byte(trailer_at), "damaged report: the index is said to be " + std::to_string(size) +
                                         " bytes at byte " + std::to_string(index_offset_));
  }
  const std::string bytes = read_bytes(index_offset_, size);
  if (checksum(bytes) != u64_at(trailer, 16)) {
    throw Error(at_byte(index_offset_), "damaged report: the index does not match its checksum");
  }
  if (!index_.ParseFromString(bytes)) throw Error(at_byte(index_offset_), "damaged report: the index cannot be read");
  if (index_.format_version() > kReportFormatVersion) {
    throw Error(at_byte(index_offset_), "format version " + std::to_string(index_.format_version()) +
                                            ", written by a newer program (" +
                                            (index_.created_by().empty() ? "unknown" : index_.created_by()) +
                                            "); this one reads up to version " + std::to_string(kReportFormatVersion));
  }
  if (index_.format_version() < 1) {
    throw Error(at_byte(index_offset_),
                "format version " + std::to_string(index_.format_version()) + ", expected 1 or more");
  }
}

const report::ColumnEntry* ReportFile::find(std::string_view name) const {
  for (const auto& entry : index_.columns()) {
    if (entry.name() == name) return &entry;
  }
  return nullptr;
}

const report::ColumnEntry& ReportFile::entry(std::string_view name) const {
  if (const auto* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& entry : index_.columns()) names.push_back(entry.name());
  throw Error(path_.string(), "no column \"" + std::string(name) + "\"" + name_hint(name, names));
}

namespace {

// The bytes of a column, a part at a time, with their checksum.
class CheckedBytes : public google::protobuf::io::ZeroCopyInputStream {
 public:
  CheckedBytes(std::istream& in, std::uint64_t size) : in_(in), left_(size) {}

  bool Next(const void** data, int* size) override {
    if (backed_ > 0) {
      *data = part_.data() + part_.size() - backed_;
      *size = static_cast<int>(std::exchange(backed_, 0));
      return true;
    }
    if (left_ == 0) return false;
    part_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPart)));
    in_.read(part_.data(), static_cast<std::streamsize>(part_.size()));
    if (!in_) return short_ = true, left_ = 0, false;
    left_ -= part_.size();
    taken_ += static_cast<std::int64_t>(part_.size());
    crc_ = continued(crc_, part_);
    *data = part_.data();
    *size = static_cast<int>(part_.size());
    return true;
  }
  void BackUp(int count) override { backed_ = static_cast<std::size_t>(count); }
  bool Skip(int count) override {
    const void* data = nullptr;
    for (int size = 0; count > 0 && Next(&data, &size); count -= size) {
      if (size > count) BackUp(size - count), size = count;
    }
    return count == 0;
  }
  std::int64_t ByteCount() const override { return taken_ - static_cast<std::int64_t>(backed_); }

  // Also of what nobody has taken.
  std::uint32_t checksum_of_all() {
    const void* data = nullptr;
    for (int size = 0; Next(&data, &size);) continue;
    return ~crc_;
  }
  bool became_shorter() const { return short_; }

 private:
  static constexpr std::uint64_t kPart = 1 << 18;
  std::istream& in_;
  std::uint64_t left_;
  std::string part_;
  std::size_t backed_ = 0;
  std::int64_t taken_ = 0;
  std::uint32_t crc_ = ~0u;
  bool short_ = false;
};

}  // namespace

// What a column of the schema holds, field by field (report.proto).
struct ReportFile::Visitor {
  // Rows in batches.
  template <class Value>
  struct Batch {
    std::function<void(std::span<const Value>)> take;
    std::array<Value, 4096> values{};
    std::size_t size = 0;
    std::uint64_t rows = 0;

    void add(Value value) {
      values[size++] = value;
      if (size == values.size()) flush();
    }
    void flush() {
      rows += size;
      if (size > 0 && take) take({values.data(), size});
      size = 0;
    }
  };

  Batch<std::int64_t> integers;
  Batch<double> reals;
  Batch<std::uint32_t> text_rows;
  std::vector<std::string> texts;
  std::uint64_t value = 0;  // of the row before

  bool parse(google::protobuf::io::CodedInputStream& in) {
    using google::protobuf::internal::WireFormatLite;
    for (std::uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
      const int field = WireFormatLite::GetTagFieldNumber(tag);
      const bool known = field >= 1 && field <= 4;
      if (!known) {
        if (!WireFormatLite::SkipField(&in, tag)) return false;
      } else if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!row(in, field)) return false;
      } else if (field == 3) {
        if (!WireFormatLite::ReadString(&in, &texts.emplace_back())) return false;
      } else if (!packed(in, field)) {
        return false;
      }
    }
    integers.flush();
    reals.flush();
    text_rows.flush();
    return in.ConsumedEntireMessage();
  }
  std::uint64_t rows() const { return integers.rows + reals.rows + text_rows.rows; }

 private:
  bool packed(google::protobuf::io::CodedInputStream& in, int field) {
    int length = 0;
    if (!in.ReadVarintSizeAsInt(&length)) return false;
    const auto limit = in.PushLimit(length);
    while (in.BytesUntilLimit() > 0) {
      if (!row(in, field)) return false;
    }
    in.PopLimit(limit);
    return true;
  }
  bool row(google::protobuf::io::CodedInputStream& in, int field) {
    std::uint64_t raw = 0;
    if (field == 2 ? !in.ReadLittleEndian64(&raw) : !in.ReadVarint64(&raw)) return false;
    if (field == 1) {
      value += static_cast<std::uint64_t>(google::protobuf::internal::WireFormatLite::ZigZagDecode64(raw));
      integers.add(static_cast<std::int64_t>(value));
    } else if (field == 2) {
      reals.add(std::bit_cast<double>(raw));
    } else if (field == 4) {
      text_rows.add(static_cast<std::uint32_t>(raw));
    } else {
      return false;
    }
    return true;
  }
};

void ReportFile::visit(const report::ColumnEntry& entry, Visitor& visitor) const {
  const std::string what = "damaged report: column \"" + entry.name() + "\" ";
  // Columns stand before the index; written so that no sum can overflow.
  if (entry.offset() < kMagicBytes || entry.offset() > index_offset_ ||
      entry.size_bytes() > index_offset_ - entry.offset() || entry.size_bytes() > INT_MAX) {
    throw Error(at_byte(entry.offset()),
                what + "is said to be " + std::to_string(entry.size_bytes()) + " bytes, outside of the file");
  }
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(entry.offset()));
  CheckedBytes bytes(file_, entry.size_bytes());
  bool whole = false;
  {
    google::protobuf::io::CodedInputStream in(&bytes);
    whole = visitor.parse(in);
  }
  const std::uint32_t sum = bytes.checksum_of_all();
  if (bytes.became_shorter()) {
    throw Error(at_byte(entry.offset()),
                "cannot read " + std::to_string(entry.size_bytes()) + " bytes: the file became shorter");
  }
  if (sum != entry.crc32()) throw Error(at_byte(entry.offset()), what + "does not match its checksum");
  if (!whole) throw Error(at_byte(entry.offset()), what + "cannot be read");
  if (visitor.rows() != entry.rows()) {
    throw Error(at_byte(entry.offset()),
                what + "has " + std::to_string(visitor.rows()) + " rows, expected " + std::to_string(entry.rows()));
  }
}

std::uint64_t ReportFile::rows(std::string_view name) const { return entry(name).rows(); }

void ReportFile::visit_integers(std::string_view name,
                                const std::function<void(std::span<const std::int64_t>)>& take) const {
  const auto& at = entry(name);
  Visitor visitor;
  visitor.integers.take = take;
  visit(at, visitor);
  if (visitor.integers.rows != at.rows()) {
    throw Error(at_byte(at.offset()), "column \"" + at.name() + "\" holds no integers");
  }
}

std::vector<std::string> ReportFile::visit_text_rows(
    std::string_view name, const std::function<void(std::span<const std::uint32_t>)>& take) const {
  const auto& at = entry(name);
  Visitor visitor;
  std::uint32_t most = 0;
  visitor.text_rows.take = [&](std::span<const std::uint32_t> rows) {
    most = std::max(most, *std::max_element(rows.begin(), rows.end()));
    take(rows);
  };
  visit(at, visitor);
  if (visitor.text_rows.rows != at.rows()) {
    throw Error(at_byte(at.offset()), "column \"" + at.name() + "\" holds no texts");
  }
  if (at.rows() > 0 && most >= visitor.texts.size()) {
    throw Error(at_byte(at.offset()), "damaged report: column \"" + at.name() + "\" names text " +
                                          std::to_string(most) + " of " + std::to_string(visitor.texts.size()));
  }
  return std::move(visitor.texts);
}

std::vector<std::int64_t> ReportFile::column_integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  visit_integers(name,
                 [&](std::span<const std::int64_t> rows) { values.insert(values.end(), rows.begin(), rows.end()); });
  return values;
}

std::vector<double> ReportFile::column_reals(std::string_view name) const {
  const auto& at = entry(name);
  std::vector<double> values;
  Visitor visitor;
  visitor.reals.take = [&](std::span<const double> rows) { values.insert(values.end(), rows.begin(), rows.end()); };
  visit(at, visitor);
  if (visitor.reals.rows != at.rows()) {
    throw Error(at_byte(at.offset()), "column \"" + at.name() + "\" holds no reals");
  }
  return values;
}

TextColumn ReportFile::column_texts(std::string_view name) const {
  TextColumn out;
  out.texts = visit_text_rows(
      name, [&](std::span<const std::uint32_t> rows) { out.rows.insert(out.rows.end(), rows.begin(), rows.end()); });
  return out;
}

}  // namespace superstep
