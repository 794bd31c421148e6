// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/numerics/kernels.h"

namespace superstep::numerics {

namespace {

constexpr std::int64_t kCarryEvery = 1 << 28;  // digits stay below 2^62
constexpr std::uint64_t kDigit = 0xffffffffu;

template <class Real>
struct Format;
template <>
struct Format<Half> {
  static constexpr int kBits = 11, kLowest = -24;
};
template <>
struct Format<float> {
  static constexpr int kBits = 24, kLowest = -149;
};
template <>
struct Format<double> {
  static constexpr int kBits = 53, kLowest = -1074;
};

}  // namespace

// magnitude < 2^63; up to 95 bits after shifting, in three digits.
template <class Real>
void ExactSum<Real>::add_scaled(std::uint64_t magnitude, bool negative, int position) {
  const int shift = position % 32;
  const std::uint64_t lower = (magnitude & kDigit) << shift;
  const std::uint64_t upper = (magnitude >> 32) << shift;
  const std::int64_t parts[] = {static_cast<std::int64_t>(lower & kDigit),
                                static_cast<std::int64_t>((lower >> 32) + (upper & kDigit)),
                                static_cast<std::int64_t>(upper >> 32)};
  std::int64_t* digit = &digits_[static_cast<std::size_t>(position / 32)];
  for (int i = 0; i < 3; ++i) digit[i] += negative ? -parts[i] : parts[i];
  if (++since_carry_ >= kCarryEvery) carry();
}

template <class Real>
void ExactSum<Real>::carry() {
  std::int64_t up = 0;
  for (std::size_t i = 0; i + 1 < digits_.size(); ++i) {
    const std::int64_t digit = digits_[i] + up;
    digits_[i] = digit & static_cast<std::int64_t>(kDigit);
    up = digit >> 32;
  }
  digits_.back() += up;
  since_carry_ = 0;
}

template <class Real>
void ExactSum<Real>::add(Real term) {
  using Bits = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
  constexpr int kFraction = Format<Real>::kBits - 1;
  const auto bits = std::bit_cast<Bits>(term);
  const bool negative = std::signbit(term);
  empty_ = false;
  all_negative_zero_ = all_negative_zero_ && term == 0 && negative;
  if (!std::isfinite(term)) {
    (term != term ? nan_ : negative ? negative_infinity_ : positive_infinity_) = true;
    return;
  }
  const auto field = static_cast<int>((bits << 1) >> (kFraction + 1));
  const Bits fraction = bits & ((Bits{1} << kFraction) - 1);
  add_scaled(fraction | (field == 0 ? 0 : Bits{1} << kFraction), negative, std::max(field, 1) - 1);
}

template <class Real>
void ExactSum<Real>::add_signed(std::int64_t value, int position) {
  add_scaled(static_cast<std::uint64_t>(value < 0 ? -value : value), value < 0, position);
}

// Integer sums of windows of exponents: most blocks need one, and those that need many are added one by one.
template <class Real>
void ExactSum<Real>::add_block(const Real* terms, std::int64_t count) {
  constexpr bool kFloats = std::is_same_v<Real, float>;
  constexpr int kFraction = Format<Real>::kBits - 1;
  constexpr std::uint32_t kWindow = kFloats ? kAlignedFloatExponents : kAlignedDoubleExponents;
  constexpr std::uint32_t kNotFinite = 2 * std::numeric_limits<Real>::max_exponent - 1;
  constexpr std::uint32_t kMostWindows = 10;
  const Kernels& kernels = fastest_kernels();
  const auto magnitudes = [&] {
    if constexpr (kFloats)
      return kernels.float_magnitudes(terms, count);
    else
      return kernels.double_magnitudes(terms, count);
  }();
  const auto exponent = [](auto bits) { return std::max(static_cast<std::uint32_t>(bits >> kFraction), 1u); };
  const std::uint32_t highest = exponent(magnitudes.largest);
  const std::uint32_t first = exponent(magnitudes.smallest_nonzero);
  if (highest == kNotFinite || (first <= highest && highest - first >= kMostWindows * kWindow)) {
    for (std::int64_t i = 0; i < count; ++i) add(terms[i]);
    return;
  }
  empty_ = empty_ && count == 0;
  all_negative_zero_ = all_negative_zero_ && magnitudes.all_negative_zero;
  for (std::uint32_t lowest = first; lowest <= highest; lowest += kWindow) {
    const int position = static_cast<int>(lowest) - 1;
    if constexpr (kFloats) {
      add_signed(kernels.sum_aligned_floats(terms, count, lowest), position);
    } else {
      const WideSum sum = kernels.sum_aligned_doubles(terms, count, lowest);
      add_signed(sum.low, position);
      add_signed(sum.high, position + 27);
    }
  }
}

template <class Real>
void ExactSum<Real>::add(const Real* terms, std::int64_t count, std::int64_t step) {
  Real gathered[kAlignedTerms];
  for (std::int64_t first = 0; first < count; first += kAlignedTerms) {
    const std::int64_t n = std::min(kAlignedTerms, count - first);
    const Real* block = terms + first * step;
    if (step != 1) {
      for (std::int64_t i = 0; i < n; ++i) gathered[i] = block[i * step];
      block = gathered;
    }
    add_block(block, n);
  }
}

template <class Real>
void ExactSum<Real>::merge(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += carried.digits_[i];
  if (++since_carry_ >= kCarryEvery) carry();
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
  nan_ = nan_ || other.nan_;
  empty_ = empty_ && other.empty_;
  all_negative_zero_ = all_negative_zero_ && other.all_negative_zero_;
}

template <class Real>
typename ExactSum<Real>::Leading ExactSum<Real>::leading() const {
  ExactSum sum = *this;
  sum.carry();
  Leading result;
  result.negative = sum.digits_.back() < 0;
  if (result.negative) {
    for (std::int64_t& digit : sum.digits_) digit = -digit;
    sum.carry();
  }
  int top = kDigits - 1;
  while (top > 0 && sum.digits_[static_cast<std::size_t>(top)] == 0) --top;
  const auto digit = [&](int i) {
    return i < 0 ? 0 : static_cast<std::uint64_t>(sum.digits_[static_cast<std::size_t>(i)]);
  };
  // The top digit is below 2^32: the last one holds at most 2^40 terms' carries.
  const std::uint64_t upper = digit(top) << 32 | digit(top - 1);
  if (upper == 0) return result;
  const int shift = std::countl_zero(upper);
  result.bits = shift == 0 ? upper : upper << shift | (digit(top - 2) << 32) >> (64 - shift);
  result.exponent = kLowest + 32 * (top - 1) - shift;
  result.more = (digit(top - 2) << (32 + shift)) != 0;
  for (int i = 0; i < top - 2; ++i) result.more = result.more || digit(i) != 0;
  return result;
}

template <class Real>
template <class Target>
double ExactSum<Real>::rounded() const {
  if (nan_ || (positive_infinity_ && negative_infinity_)) return std::numeric_limits<double>::quiet_NaN();
  if (positive_infinity_) return std::numeric_limits<double>::infinity();
  if (negative_infinity_) return -std::numeric_limits<double>::infinity();
  const Leading sum = leading();
  if (sum.bits == 0) return !empty_ && all_negative_zero_ ? -0.0 : 0.0;
  // The leading bit is set, so that kBits of 64 are kept, or fewer among subnormals.
  const int cut = std::max(64 - Format<Target>::kBits, Format<Target>::kLowest - sum.exponent);
  double magnitude = 0;
  if (cut <= 64) {
    const std::uint64_t kept = cut == 64 ? 0 : sum.bits >> cut;
    const std::uint64_t below = cut == 64 ? sum.bits : sum.bits & ((std::uint64_t{1} << cut) - 1);
    const std::uint64_t half = std::uint64_t{1} << (cut - 1);
    const bool up = below > half || (below == half && (sum.more || kept % 2 == 1));
    magnitude = std::ldexp(static_cast<double>(kept + (up ? 1 : 0)), sum.exponent + cut);
  }
  return sum.negative ? -magnitude : magnitude;
}

// What is rounded to a narrower format is that format's number already, unless it overflows: 2^128 does so exactly.
template <class Real>
float ExactSum<Real>::to_float_sum() const {
  const double sum = rounded<float>();
  if (std::isfinite(sum) && std::abs(sum) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), sum < 0 ? -1.0f : 1.0f);
  return static_cast<float>(sum);
}

template <class Real>
double ExactSum<Real>::to_double_sum() const {
  return rounded<double>();
}

template <class Real>
Half ExactSum<Real>::to_half_sum(Overflow overflow) const {
  return round_to_nearest(rounded<Half>(), overflow);
}

template class ExactSum<float>;
template class ExactSum<double>;

float exact_sum(std::span<const float> terms) {
  ExactSum<float> sum;
  sum.add(terms.data(), std::ssize(terms));
  return sum.to_float_sum();
}

double exact_sum(std::span<const double> terms) {
  ExactSum<double> sum;
  sum.add(terms.data(), std::ssize(terms));
  return sum.to_double_sum();
}

void add_columns(const float* data, std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                 ExactSum<float>* sums) {
  constexpr std::int64_t kSide = 16, kRows = 256;
  float turned[kSide][kRows];
  for (std::int64_t column = 0; column < columns; column += kSide) {
    const std::int64_t width = std::min(kSide, columns - column);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t height = std::min(kRows, rows - row);
      for (std::int64_t i = 0; i < height; ++i) {
        const float* line = data + (row + i) * row_step + column;
        for (std::int64_t j = 0; j < width; ++j) turned[j][i] = line[j];
      }
      for (std::int64_t j = 0; j < width; ++j) sums[column + j].add(turned[j], height);
    }
  }
}

}  // namespace superstep::numerics
