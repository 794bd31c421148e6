// SPDX-License-Identifier: Apache-2.0
#include "model/training/compare_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/error.h"

namespace superstep {
namespace {

Array numbers(const std::vector<double>& values) {
  return Array::from(DType::fp32, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(CompareValues, EqualBitsAreIdentical) {
  const Difference d = compare_values({{"a", numbers({1, NAN})}}, {{"a", numbers({1, NAN})}});
  EXPECT_TRUE(d.identical);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_EQ(d.worst, "");
}

TEST(CompareValues, TellsZeroFromMinusZeroThoughTheyAreNoDistanceApart) {
  const Difference d = compare_values({{"a", numbers({0.0})}}, {{"a", numbers({-0.0})}});
  EXPECT_FALSE(d.identical);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_EQ(d.worst, "a");
}

TEST(CompareValues, GivesTheLargestDistanceAndTheLargestShareOfATensor) {
  const Difference d =
      compare_values({{"large", numbers({1000, 1})}, {"small", numbers({2.5, 4})}, {"same", numbers({3})}},
                     {{"large", numbers({1001, 1})}, {"small", numbers({2, 4})}, {"same", numbers({3})}});
  EXPECT_FALSE(d.identical);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.max_relative, 0.5 / 4);
  EXPECT_EQ(d.worst, "small");
}

TEST(CompareValues, IsInfiniteWhereOneIsFinite) {
  EXPECT_EQ(compare_values({{"a", numbers({1, 2})}}, {{"a", numbers({1, NAN})}}).max_abs, INFINITY);
  EXPECT_EQ(compare_values({{"a", numbers({1})}}, {{"a", numbers({0})}}).max_relative, INFINITY);
}

TEST(CompareValues, WantsTheSameTensors) {
  EXPECT_THROW(compare_values({{"a", numbers({1})}}, {{"b", numbers({1})}}), InternalError);
  EXPECT_THROW(compare_values({{"a", numbers({1})}}, {}), InternalError);
}

}  // namespace
}  // namespace superstep
