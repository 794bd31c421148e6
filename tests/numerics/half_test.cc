// SPDX-License-Identifier: Apache-2.0
// Rounding to fp16 against the compiler's _Float16, exhaustively where that is possible.
#include "model/numerics/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "model/numerics/kernels.h"
#include "model/numerics/random_bits.h"

namespace superstep::numerics {
namespace {

__extension__ using Native = _Float16;

Half half_of(Native value) { return {std::bit_cast<std::uint16_t>(value)}; }
bool is_nan(Half half) { return (half.bits & 0x7fffu) > kHalfInfinity; }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// As the language converts, but for the one NaN.
Half expected_half(auto value) {
  const Half native = half_of(static_cast<Native>(value));
  return is_nan(native) ? Half{kHalfNan} : native;
}

TEST(Half, EveryHalfWidensAsTheCompilersDoes) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const auto native = static_cast<float>(std::bit_cast<Native>(half.bits));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(to_float(half)), std::bit_cast<std::uint32_t>(native)) << bits;
  }
}

TEST(Half, EveryHalfIsRoundedToItself) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const Half expected = is_nan(half) ? Half{kHalfNan} : half;
    const float value = to_float(half);
    EXPECT_EQ(round_to_nearest(value, Overflow::infinity), expected);
    EXPECT_EQ(round_to_nearest(static_cast<double>(value), Overflow::nan), expected);
    EXPECT_EQ(round_stochastic(value, 0xffffffff, Overflow::clip), expected);
    EXPECT_EQ(round_stochastic(static_cast<double>(value), 0xffffffff, Overflow::clip), expected);
  }
}

// Between any two neighbouring halves, in doubles: the middle, which is a tie, and what lies just beside it.
TEST(Half, TiesGoToTheEvenHalf) {
  for (std::uint32_t bits = 0; bits < kHalfMax; ++bits) {
    const double low = to_float({static_cast<std::uint16_t>(bits)});
    const double high = to_float({static_cast<std::uint16_t>(bits + 1)});
    const double middle = (low + high) / 2;
    const auto even = static_cast<std::uint16_t>(bits + bits % 2);
    const auto check = [&](double value, std::uint32_t expected) {
      EXPECT_EQ(round_to_nearest(value, Overflow::infinity).bits, expected);
      EXPECT_EQ(round_to_nearest(-value, Overflow::infinity).bits, expected | 0x8000u);
    };
    check(middle, even);
    check(std::nextafter(middle, low), bits);
    check(std::nextafter(middle, high), bits + 1);
    EXPECT_EQ(round_to_nearest(static_cast<float>(middle), Overflow::infinity).bits, even);
  }
}

// Every 251st float: all exponents, signs and NaN, 17 million of them.
TEST(Half, FloatsAreRoundedAsTheCompilerDoes) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 251)
    values.push_back(float_of(static_cast<std::uint32_t>(bits)));
  std::vector<Half> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = expected_half(values[i]);
  for (const Kernels* kernels : available_kernels()) {
    std::vector<Half> rounded(values.size());
    kernels->round_to_nearest(values.data(), rounded.data(), std::ssize(values), Overflow::infinity);
    EXPECT_TRUE(rounded == expected) << name_of(kernels->isa);
  }
}

TEST(Half, DoublesAreRoundedOnceAsTheCompilerDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    // Exponents around those of halves, and fractions that are often near a tie.
    const std::uint64_t exponent = 1023 - 30 + random() % 50;
    const std::uint64_t fraction =
        (random() & random() & 0x3ffu) << 42 | std::uint64_t{i % 2 == 0} << 41 | random() % 3;
    const auto value = std::bit_cast<double>(random() << 63 | exponent << 52 | fraction);
    ASSERT_EQ(round_to_nearest(value, Overflow::infinity), expected_half(value)) << value;
  }
  // Rounded to a float first, this would be a tie and go down.
  EXPECT_EQ(round_to_nearest(1 + 0x1p-11 + 0x1p-40, Overflow::infinity).bits, 0x3c01);
  EXPECT_EQ(round_to_nearest(0x1p-25 + 0x1p-70, Overflow::infinity).bits, 1);
  EXPECT_EQ(round_to_nearest(std::numeric_limits<double>::denorm_min(), Overflow::infinity).bits, 0);
}

TEST(Half, OverflowGivesWhatIsAskedFor) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {65520.0f, 70000.0f, 3e38f}) {
    for (const float sign : {1.0f, -1.0f}) {
      const std::uint32_t bit = sign < 0 ? 0x8000 : 0;
      EXPECT_EQ(round_to_nearest(sign * value, Overflow::infinity).bits, kHalfInfinity | bit);
      EXPECT_EQ(round_to_nearest(sign * value, Overflow::clip).bits, kHalfMax | bit);
      EXPECT_EQ(round_to_nearest(sign * value, Overflow::nan).bits, kHalfNan);
      EXPECT_EQ(round_stochastic(sign * value, 0xffffffff, Overflow::infinity).bits, kHalfInfinity | bit);
      EXPECT_EQ(round_stochastic(sign * value, 0xffffffff, Overflow::clip).bits, kHalfMax | bit);
      EXPECT_EQ(round_stochastic(double{sign} * value, 0xffffffff, Overflow::clip).bits, kHalfMax | bit);
      EXPECT_EQ(round_stochastic(sign * value, 0xffffffff, Overflow::nan).bits, kHalfNan);
    }
  }
  EXPECT_EQ(round_stochastic(1e300, 0, Overflow::infinity).bits, kHalfInfinity);
  for (const Overflow overflow : {Overflow::infinity, Overflow::clip, Overflow::nan}) {
    EXPECT_EQ(round_to_nearest(65519.0f, overflow).bits, kHalfMax);
    EXPECT_EQ(round_to_nearest(-infinity, overflow).bits, kHalfInfinity | 0x8000u);
    EXPECT_EQ(round_stochastic(infinity, 1, overflow).bits, kHalfInfinity);
    EXPECT_EQ(round_stochastic(double{infinity}, 1, overflow).bits, kHalfInfinity);
    EXPECT_EQ(round_stochastic(std::nan(""), 1, overflow).bits, kHalfNan);
  }
}

// With all 2^13 values that matter of the random bits, the number of those that round up is the part cut off.
TEST(Half, StochasticRoundingGoesUpExactlyInProportion) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const auto bits = static_cast<std::uint32_t>(0x38800000u + random() % (0x477fe000u - 0x38800000u));
    const float value = float_of(bits);
    const auto below = static_cast<std::uint32_t>((bits >> 13) - (112u << 10));
    std::uint32_t up = 0;
    for (std::uint32_t r = 0; r < 0x2000; ++r) {
      const Half rounded = round_stochastic(value, r << 19, Overflow::clip);
      ASSERT_TRUE(rounded.bits == below || rounded.bits == below + 1);
      ASSERT_EQ(rounded, round_stochastic(double{value}, r << 19, Overflow::clip));
      up += rounded.bits - below;
    }
    ASSERT_EQ(up, bits & 0x1fffu);
  }
}

// n draws of a value between neighbours l and l + u at fraction f: mean value, variance u^2 f (1 - f).
TEST(Half, StochasticRoundingHasTheExpectationAndVarianceOfItsDefinition) {
  constexpr int kDraws = 1 << 18;
  std::vector<std::uint32_t> random(kDraws);
  RandomBits({.seed = 5}).fill(0, random);
  std::vector<Half> rounded(kDraws);
  for (const float value : {1.0003f, -3.14159f, 1000.3f, 3.1e-5f, 1.2345e-7f, -2e-8f, 65510.0f}) {
    const std::vector<float> values(kDraws, value);
    for (const Kernels* kernels : available_kernels()) {
      kernels->round_stochastic(values.data(), random.data(), rounded.data(), kDraws, Overflow::infinity);
      for (int i = 0; i < kDraws; ++i) ASSERT_EQ(rounded[i], round_stochastic(value, random[i], Overflow::infinity));
    }
    if (std::abs(value) > 65504) continue;  // the upper neighbour is an overflow
    double mean = 0, square = 0;
    for (const Half half : rounded) {
      const double error = double{to_float(half)} - double{value};
      mean += error / kDraws;
      square += error * error / kDraws;
    }
    const double unit = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
    const double fraction = std::abs(value) / unit - std::floor(std::abs(value) / unit);
    const double variance = unit * unit * fraction * (1 - fraction);
    EXPECT_NEAR(mean, 0, 5 * std::sqrt(variance / kDraws)) << value;
    EXPECT_NEAR(square, variance, 0.05 * variance + unit * unit * 1e-4) << value;
  }
}

TEST(Half, ArraysWidenAsTheirElementsDo) {
  std::vector<Half> halves(0x10000);
  for (std::uint32_t i = 0; i < 0x10000; ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  for (const Kernels* kernels : available_kernels()) {
    std::vector<float> values(halves.size());
    kernels->to_floats(halves.data(), values.data(), std::ssize(halves));
    for (std::size_t i = 0; i < halves.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(to_float(halves[i])));
  }
}

}  // namespace
}  // namespace superstep::numerics
