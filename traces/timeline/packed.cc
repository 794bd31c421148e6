// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/packed.h"

#include <algorithm>

namespace superstep::trace {
namespace {

constexpr std::int64_t kEvery = 64;

std::size_t width_of(std::int64_t value) {
  if (value < 0) return 8;
  return value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFFFFFF ? 4 : 8;
}

}  // namespace

void PackedIntegers::reserve(std::size_t rows) {
  reserved_ = rows;
  bytes_->reserve(rows * width_);
  data_ = bytes_->data();
}

void PackedIntegers::widen(std::size_t width) {
  PackedIntegers wider;
  wider.width_ = width;
  wider.reserve(std::max(reserved_, size_ + 1));
  for (std::size_t row = 0; row < size_; ++row) wider.push_back((*this)[row]);
  *this = std::move(wider);
}

void PackedIntegers::push_back(std::int64_t value) {
  if (const std::size_t width = width_of(value); width > width_) widen(width);
  const auto* from = reinterpret_cast<const unsigned char*>(&value);  // little-endian, as the file
  if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<unsigned char>>(*bytes_);
  bytes_->insert(bytes_->end(), from, from + width_);
  data_ = bytes_->data();
  ++size_;
}

PackedIntegers read_integers(const ReportFile& report, std::string_view column) {
  PackedIntegers out;
  out.reserve(report.rows(column));
  report.visit_integers(column, [&](std::span<const std::int64_t> rows) {
    for (const std::int64_t value : rows) out.push_back(value);
  });
  return out;
}

PackedTexts read_texts(const ReportFile& report, std::string_view column) {
  PackedTexts out;
  out.rows.reserve(report.rows(column));
  out.texts = report.visit_text_rows(column, [&](std::span<const std::uint32_t> rows) {
    for (const std::uint32_t row : rows) out.rows.push_back(row);
  });
  return out;
}

void Sums::reserve(std::size_t rows) {
  values_.reserve(rows);
  sums_.reserve(rows / kEvery + 1);
}

Sums::Sums(PackedIntegers values) : values_(std::move(values)) {
  sums_.reserve(values_.size() / kEvery + 1);
  values_.read([this](const auto& value) {
    for (std::size_t row = 0; row < values_.size(); ++row) {
      sum_ += value(row);
      if ((row + 1) % kEvery == 0) sums_.push_back(sum_);
    }
  });
}

void Sums::push_back(std::int64_t value) {
  values_.push_back(value);
  sum_ += value;
  if (size() % kEvery == 0) sums_.push_back(sum_);
}

std::int64_t Sums::before(std::int64_t row) const {
  if (row == size()) return sum_;
  const auto end = static_cast<std::size_t>(row);
  return values_.read([this, end](const auto& value) {
    std::int64_t sum = sums_[end / kEvery];
    for (std::size_t r = end / kEvery * kEvery; r < end; ++r) sum += value(r);
    return sum;
  });
}

Sums::Found Sums::find_from(std::int64_t from, std::int64_t end, std::int64_t sum) const {
  // The last 64 rows that begin below it, or those of `from`.
  const auto begin = sums_.begin() + from / kEvery,
             last = sums_.begin() + std::min<std::int64_t>(static_cast<std::int64_t>(sums_.size()), end / kEvery + 1);
  const auto part = std::max(begin + 1, std::lower_bound(begin, last, sum)) - 1;
  return values_.read([&](const auto& value) {
    std::int64_t row = (part - sums_.begin()) * kEvery, ahead = *part;
    while (row < end && (ahead < sum || row < from)) ahead += value(static_cast<std::size_t>(row++));
    return Found{row, ahead};
  });
}

}  // namespace superstep::trace
