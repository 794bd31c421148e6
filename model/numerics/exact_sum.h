// SPDX-License-Identifier: Apache-2.0
// Sums without error: a fixed-point number wide enough for every term, rounded once at the end. Terms, and sums of
// terms, may come in any order and be cut in any way - over shards, replicas, micro-batches - and give the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "model/numerics/half.h"

namespace superstep::numerics {

// Of floats (and halves, which are floats) or doubles; up to 2^40 terms.
//   The result is the exact sum rounded to nearest even, an infinity where that overflows; no order overflows on the
//   way. A NaN, or infinities of both signs, give the one quiet NaN. A zero is -0 only where there are terms and all of
//   them are -0, as in IEEE 754 addition.
template <class Real>
class ExactSum {
 public:
  void add(Real term);
  void add(const Real* terms, std::int64_t count, std::int64_t step = 1);
  void add(Half term) requires std::is_same_v<Real, float> { add(to_float(term)); }
  void merge(const ExactSum& other);

  float to_float_sum() const;
  double to_double_sum() const;
  Half to_half_sum(Overflow overflow) const;

 private:
  // Digits of 32 bits in two's complement, the lowest first; digit 0 counts the smallest subnormal. A digit may hold
  // more than its 32 bits, of either sign, until carry() moves that up; the last one keeps what is beyond.
  static constexpr int kDigits = std::is_same_v<Real, float> ? 11 : 67;
  static constexpr int kLowest = std::is_same_v<Real, float> ? -149 : -1074;  // 2^kLowest is worth one

  std::array<std::int64_t, kDigits> digits_{};
  std::int64_t since_carry_ = 0;  // additions to a digit since carry(), each below 2^33
  bool positive_infinity_ = false, negative_infinity_ = false, nan_ = false;
  bool empty_ = true, all_negative_zero_ = true;

  void add_block(const Real* terms, std::int64_t count);
  void add_signed(std::int64_t value, int position);
  void add_scaled(std::uint64_t magnitude, bool negative, int position);
  void carry();

  // The sum's leading 64 bits, at 2^exponent each, and whether there is more below.
  struct Leading {
    std::uint64_t bits = 0;
    int exponent = 0;
    bool more = false;
    bool negative = false;
  };
  Leading leading() const;
  template <class Target>
  double rounded() const;  // exact but for doubles' overflow
};

// The exact sum, rounded once.
float exact_sum(std::span<const float> terms);
double exact_sum(std::span<const double> terms);

// sums[j] += the elements (i, j), i in 0..rows - 1, of a matrix: what a bias gradient is.
void add_columns(const float* data, std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                 ExactSum<float>* sums);

}  // namespace superstep::numerics
