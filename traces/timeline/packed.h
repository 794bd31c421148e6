// SPDX-License-Identifier: Apache-2.0
// Long columns in few bytes. Integers take 1, 2, 4 or 8 bytes a row, as many as the largest integer needs. A sum stored
// every 64 rows gives sums over any range of rows. Copies share their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/report_io.h"

namespace superstep::trace {

class PackedIntegers {
 public:
  void reserve(std::size_t rows);
  void push_back(std::int64_t value);
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Returns use(value), where value(row) is the integer in a row. The width is looked up once for all rows.
  template <class Use>
  auto read(const Use& use) const {
    const auto as = [this]<class T>(T) { return [this](std::size_t row) -> std::int64_t { return at<T>(row); }; };
    switch (width_) {
      case 1:
        return use(as(std::uint8_t{}));
      case 2:
        return use(as(std::uint16_t{}));
      case 4:
        return use(as(std::uint32_t{}));
      default:
        return use(as(std::int64_t{}));
    }
  }
  std::int64_t operator[](std::size_t row) const {
    return read([row](const auto& value) { return value(row); });
  }
  std::size_t bytes() const { return bytes_->capacity(); }
  bool shares(const PackedIntegers& other) const { return bytes_ == other.bytes_; }

 private:
  template <class T>
  T at(std::size_t row) const {
    T value;
    __builtin_memcpy(&value, data_ + row * sizeof(T), sizeof(T));
    return value;
  }
  void widen(std::size_t width);

  std::shared_ptr<std::vector<unsigned char>> bytes_ = std::make_shared<std::vector<unsigned char>>();
  const unsigned char* data_ = nullptr;  // bytes_->data()
  std::size_t size_ = 0, reserved_ = 0, width_ = 1;
};

// A text column: row i is texts[rows[i]].
struct PackedTexts {
  std::vector<std::string> texts;
  PackedIntegers rows;

  std::size_t size() const { return rows.size(); }
  const std::string& operator[](std::size_t row) const { return texts[static_cast<std::size_t>(rows[row])]; }
};

// Return a column of the report. Throw Error as ReportFile does.
PackedIntegers read_integers(const ReportFile& report, std::string_view column);
PackedTexts read_texts(const ReportFile& report, std::string_view column);

// A column of integers that are not negative, with sums over all rows before any row.
class Sums {
 public:
  Sums() = default;
  explicit Sums(PackedIntegers values);
  const PackedIntegers& values() const { return values_; }
  void reserve(std::size_t rows);
  void push_back(std::int64_t value);
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  bool empty() const { return values_.empty(); }
  std::int64_t value(std::int64_t row) const { return values_[static_cast<std::size_t>(row)]; }
  std::int64_t before(std::int64_t row) const;  // sum of the rows before `row`, which is from 0 to size()
  // Return the first row in [from, end) with before(row) >= sum (first_from) or > sum (first_above); `end`: none.
  std::int64_t first_from(std::int64_t from, std::int64_t end, std::int64_t sum) const {
    return find_from(from, end, sum).row;
  }
  struct Found {
    std::int64_t row = 0, before = 0;
  };
  // Returns the row of first_from(), with before(row).
  Found find_from(std::int64_t from, std::int64_t end, std::int64_t sum) const;
  std::int64_t first_above(std::int64_t from, std::int64_t end, std::int64_t sum) const {
    return first_from(from, end, sum + 1);
  }

 private:
  PackedIntegers values_;
  std::vector<std::int64_t> sums_{0};  // sum of the rows before every 64th row
  std::int64_t sum_ = 0;               // sum of all rows
};

}  // namespace superstep::trace
