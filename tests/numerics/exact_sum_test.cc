// SPDX-License-Identifier: Apache-2.0
// Against an oracle that sums whole numbers of many digits and rounds by comparing with neighbours.
#include "model/numerics/exact_sum.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "model/numerics/kernels.h"

namespace superstep::numerics {
namespace {

using Whole = boost::multiprecision::cpp_int;

// In units of 2^-1074, the smallest double.
Whole whole_of(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const Whole significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 + 1074;
  return shift >= 0 ? Whole(significand << shift) : Whole(significand / (Whole(1) << -shift));
}

// The value nearest to the sum among those of Real, found by bisection over their bits; ties to even bits.
template <class Real, class Bits>
Real nearest(const Whole& sum, bool negative_zero) {
  if (sum == 0) return negative_zero ? -Real{0} : Real{0};
  const Whole magnitude = abs(sum);
  Bits low = 0, high = std::bit_cast<Bits>(std::numeric_limits<Real>::infinity());
  const auto value = [&](Bits bits) {  // infinity stands for the next power of two
    const Real largest = std::numeric_limits<Real>::max();
    return bits == high && !std::isfinite(std::bit_cast<Real>(bits))
               ? Whole(whole_of(largest) + whole_of(largest - std::nextafter(largest, Real{0})))
               : whole_of(std::bit_cast<Real>(bits));
  };
  const Bits infinity = high;
  if (magnitude >= value(high)) return sum < 0 ? -std::bit_cast<Real>(high) : std::bit_cast<Real>(high);
  const Whole top = value(infinity);
  while (high - low > 1) {
    const Bits middle = low + (high - low) / 2;
    (whole_of(std::bit_cast<Real>(middle)) <= magnitude ? low : high) = middle;
  }
  const Whole below = magnitude - whole_of(std::bit_cast<Real>(low));
  const Whole above = (high == infinity ? top : whole_of(std::bit_cast<Real>(high))) - magnitude;
  const Real rounded = std::bit_cast<Real>(below < above || (below == above && low % 2 == 0) ? low : high);
  return sum < 0 ? -rounded : rounded;
}

template <class Real>
using BitsOf = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;

template <class Real>
BitsOf<Real> bits(Real value) {
  return std::bit_cast<BitsOf<Real>>(value);
}

template <class Real>
Real result_of(const ExactSum<Real>& sum) {
  if constexpr (std::is_same_v<Real, float>)
    return sum.to_float_sum();
  else
    return sum.to_double_sum();
}

// Several kinds of terms: alike, of all magnitudes, cancelling, subnormal, huge.
template <class Real>
std::vector<Real> draw_terms(std::mt19937_64& random) {
  using Bits = BitsOf<Real>;
  constexpr int kFraction = std::numeric_limits<Real>::digits - 1;
  const auto exponents = Bits{2} * std::numeric_limits<Real>::max_exponent - 1;  // finite ones are below
  const std::uint64_t kind = random() % 5;
  std::vector<Real> terms(random() % 3000);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Bits fraction = static_cast<Bits>(random()) & ((Bits{1} << kFraction) - 1);
    const Bits sign = static_cast<Bits>(random() % 2) << (8 * sizeof(Bits) - 1);
    const Bits exponent = kind == 0   ? exponents / 2 + static_cast<Bits>(random() % 20)
                          : kind == 1 ? static_cast<Bits>(random() % exponents)
                          : kind == 2 ? static_cast<Bits>(random() % 40)
                          : kind == 3 ? static_cast<Bits>(random() % 2)
                                      : exponents - 1 - static_cast<Bits>(random() % 3);
    terms[i] = std::bit_cast<Real>(sign | exponent << kFraction | fraction);
    if (i > 0 && random() % 3 == 0) terms[i] = -terms[random() % i];
  }
  return terms;
}

template <class Real>
class ExactSums : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(ExactSums, Reals);

TYPED_TEST(ExactSums, EqualWholeNumbersInEveryOrderAndEveryCut) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<TypeParam> terms = draw_terms<TypeParam>(random);
    Whole whole = 0;
    for (const TypeParam term : terms) whole += whole_of(term);
    const auto expected = bits(nearest<TypeParam, BitsOf<TypeParam>>(whole, false));
    ASSERT_EQ(bits(exact_sum(terms)), expected) << "trial " << trial;
    for (int order = 0; order < 4; ++order) {
      std::shuffle(terms.begin(), terms.end(), random);
      // Cut anywhere; the parts are merged in any order, some of them with each other first.
      std::vector<ExactSum<TypeParam>> parts;
      for (std::size_t first = 0; first < terms.size();) {
        const std::size_t count = std::min<std::size_t>(terms.size() - first, 1 + random() % 1500);
        ExactSum<TypeParam> part;
        if (count < 20) {
          for (std::size_t i = 0; i < count; ++i) part.add(terms[first + i]);
        } else {
          part.add(&terms[first], static_cast<std::int64_t>(count));
        }
        parts.push_back(part);
        first += count;
      }
      std::shuffle(parts.begin(), parts.end(), random);
      while (parts.size() > 1) {
        parts[random() % (parts.size() - 1)].merge(parts.back());
        parts.pop_back();
      }
      parts.resize(std::max<std::size_t>(1, parts.size()));
      ASSERT_EQ(bits(result_of(parts[0])), expected);
    }
  }
}

TYPED_TEST(ExactSums, KeepInfinitiesNanAndSignsOfZero) {
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam infinity = Limits::infinity(), nan = Limits::quiet_NaN(), largest = Limits::max();
  const auto sum = [](std::vector<TypeParam> terms) {
    const TypeParam together = exact_sum(terms);
    ExactSum<TypeParam> merged;
    for (const TypeParam term : terms) {
      ExactSum<TypeParam> one;
      one.add(term);
      one.merge(merged);
      merged = one;
    }
    EXPECT_EQ(bits(result_of(merged)), bits(together));
    return bits(together);
  };
  EXPECT_EQ(sum({}), bits(TypeParam{0}));
  EXPECT_EQ(sum({-TypeParam{0}, -TypeParam{0}}), bits(-TypeParam{0}));
  EXPECT_EQ(sum({-TypeParam{0}, TypeParam{0}}), bits(TypeParam{0}));
  EXPECT_EQ(sum({TypeParam{1}, -TypeParam{1}}), bits(TypeParam{0}));
  EXPECT_EQ(sum({infinity, 1, -largest}), bits(infinity));
  EXPECT_EQ(sum({1, -infinity}), bits(-infinity));
  EXPECT_EQ(sum({infinity, -infinity, 1}), bits(nan));
  EXPECT_EQ(sum({-nan, 1}), bits(nan));
  EXPECT_EQ(sum({largest, largest}), bits(infinity));
  EXPECT_EQ(sum({-largest, -largest}), bits(-infinity));
  // What overflows on the way does not overflow at the end.
  EXPECT_EQ(sum({largest, largest, -largest, -largest, Limits::denorm_min()}), bits(Limits::denorm_min()));
  // Half a last place more than the largest is a tie, which goes to infinity; a trifle less does not.
  const TypeParam place = largest - std::nextafter(largest, TypeParam{0});
  EXPECT_EQ(sum({largest, place / 2}), bits(infinity));
  EXPECT_EQ(sum({largest, place / 2, -Limits::denorm_min()}), bits(largest));
}

// A tie between 1 and the next number, and far below it a term that decides, wherever it lies among the digits.
TYPED_TEST(ExactSums, SeeTheSmallestTermThatBreaksATie) {
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam one = 1, half_place = Limits::epsilon() / 2;
  for (int exponent = -Limits::digits - 1; exponent >= Limits::min_exponent - Limits::digits; --exponent) {
    const TypeParam small = std::ldexp(one, exponent);
    EXPECT_EQ(exact_sum(std::vector<TypeParam>{one, half_place, small}), one + 2 * half_place) << exponent;
    EXPECT_EQ(exact_sum(std::vector<TypeParam>{-one, -half_place, -small}), -one - 2 * half_place) << exponent;
    EXPECT_EQ(exact_sum(std::vector<TypeParam>{one, half_place, -small}), one) << exponent;
  }
  EXPECT_EQ(exact_sum(std::vector<TypeParam>{one, half_place}), one);
  EXPECT_EQ(exact_sum(std::vector<TypeParam>{one, 3 * half_place}), one + 4 * half_place);
}

TEST(ExactSum, RoundsOnceToEveryType) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    ExactSum<float> sum;
    Whole whole = 0;
    for (int i = 0; i < 5; ++i) {
      const float term = std::ldexp(static_cast<float>(static_cast<int>(random() % 4096) - 2048),
                                    static_cast<int>(random() % 40) - 30 - (trial % 2) * 10);
      sum.add(term);
      whole += whole_of(term);
    }
    const double exact = nearest<double, std::uint64_t>(whole, false);
    ASSERT_EQ(whole_of(exact), whole);  // terms of few bits: a double holds the sum
    EXPECT_EQ(sum.to_double_sum(), exact);
    EXPECT_EQ(sum.to_float_sum(), static_cast<float>(exact));
    EXPECT_EQ(sum.to_half_sum(Overflow::clip), round_to_nearest(exact, Overflow::clip)) << exact;
  }
  // A tie of halves, but for the last term; by way of a float it would go to even.
  ExactSum<float> tie;
  for (const float term : {1.0f, 0x1p-11f, 0x1p-60f}) tie.add(term);
  EXPECT_EQ(tie.to_half_sum(Overflow::clip).bits, 0x3c01);
  EXPECT_EQ(tie.to_float_sum(), 1 + 0x1p-11f);
  ExactSum<float> large;
  for (int i = 0; i < 3; ++i) large.add(Half{kHalfMax});
  EXPECT_EQ(large.to_half_sum(Overflow::clip).bits, kHalfMax);
  EXPECT_EQ(large.to_half_sum(Overflow::nan).bits, kHalfNan);
}

TEST(ExactSum, OfManyTermsKeepsTheLast) {
  // 2^24 ones and a half: the plain sum stops at 2^24.
  const std::vector<float> ones(1 << 20, 1.0f);
  ExactSum<float> sum;
  for (int i = 0; i < 32; ++i) sum.add(ones.data(), std::ssize(ones));
  sum.add(0.5f);
  EXPECT_EQ(sum.to_double_sum(), 0x1p25 + 0.5);
}

TEST(ExactSum, OfColumnsAndOfStridedTermsIsThatOfEachColumn) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  const std::int64_t rows = 700, columns = 37, row_step = 41;
  std::vector<float> matrix(static_cast<std::size_t>(rows * row_step));
  for (float& value : matrix) value = normal(random);
  matrix[5] = std::numeric_limits<float>::infinity();
  std::vector<ExactSum<float>> sums(static_cast<std::size_t>(columns));
  add_columns(matrix.data(), rows, columns, row_step, sums.data());
  for (std::int64_t j = 0; j < columns; ++j) {
    ExactSum<float> one, strided;
    for (std::int64_t i = 0; i < rows; ++i) one.add(matrix[static_cast<std::size_t>(i * row_step + j)]);
    strided.add(&matrix[static_cast<std::size_t>(j)], rows, row_step);
    EXPECT_EQ(sums[static_cast<std::size_t>(j)].to_float_sum(), one.to_float_sum());
    EXPECT_EQ(strided.to_float_sum(), one.to_float_sum());
  }
}

TEST(ExactSum, EveryInstructionSetSumsBlocksAlike) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 1024);
    std::vector<float> floats;
    std::vector<double> doubles;
    for (std::int64_t i = 0; i < count; ++i) {
      floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffffu));
      doubles.push_back(std::bit_cast<double>(random() & 0x803fffffffffffffu));  // four exponents
    }
    const Kernels& plain = *available_kernels().front();
    for (const Kernels* kernels : available_kernels()) {
      EXPECT_EQ(kernels->float_magnitudes(floats.data(), count), plain.float_magnitudes(floats.data(), count));
      EXPECT_EQ(kernels->double_magnitudes(doubles.data(), count), plain.double_magnitudes(doubles.data(), count));
      for (std::uint32_t lowest = 1; lowest < 128; lowest += kAlignedFloatExponents)
        EXPECT_EQ(kernels->sum_aligned_floats(floats.data(), count, lowest),
                  plain.sum_aligned_floats(floats.data(), count, lowest));
      for (std::uint32_t lowest = 1; lowest < 4; ++lowest)
        EXPECT_EQ(kernels->sum_aligned_doubles(doubles.data(), count, lowest),
                  plain.sum_aligned_doubles(doubles.data(), count, lowest));
    }
  }
}

}  // namespace
}  // namespace superstep::numerics
