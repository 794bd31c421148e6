// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace superstep::numerics {
namespace {

constexpr Float8 kFormats[] = {kE4m3, kE5m2};

TEST(Float8, HasTheNumbersOfThePaper) {
  EXPECT_EQ(from_float8(0x7e, kE4m3), 448);
  EXPECT_TRUE(std::isnan(from_float8(0x7f, kE4m3)));
  EXPECT_EQ(from_float8(0x01, kE4m3), 0x1p-9);
  EXPECT_EQ(from_float8(0x08, kE4m3), 0x1p-6);
  EXPECT_EQ(from_float8(0x7b, kE5m2), 57344);
  EXPECT_EQ(from_float8(0x7c, kE5m2), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(from_float8(0x7d, kE5m2)));
  EXPECT_EQ(from_float8(0x01, kE5m2), 0x1p-16);
}

TEST(Float8, EveryNumberKeepsItsBits) {
  for (const Float8& format : kFormats) {
    for (int bits = 0; bits < 256; ++bits) {
      const double value = from_float8(static_cast<std::uint8_t>(bits), format);
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(to_float8(value, format), bits);
    }
  }
}

// The nearest of all numbers; of two that are as near, the one with an even last bit.
TEST(Float8, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (const Float8& format : kFormats) {
    for (int i = 0; i < 20000; ++i) {
      const double scale = std::ldexp(1, std::uniform_int_distribution(-20, 15)(random));
      // Every fourth is a sum of two neighbours, halved: a tie.
      double value = std::uniform_real_distribution(-1.0, 1.0)(random) * scale;
      const auto low = static_cast<std::uint8_t>(random() % 0x7a);
      if (i % 4 == 0) value = (from_float8(low, format) + from_float8(low + 1, format)) / 2;
      if (std::abs(value) > format.largest) continue;
      const std::uint8_t found = to_float8(value, format);
      const double error = std::abs(from_float8(found, format) - value);
      for (int other = 0; other < 256; ++other) {
        const double apart = std::abs(from_float8(static_cast<std::uint8_t>(other), format) - value);
        if (std::isnan(apart)) continue;
        EXPECT_LE(error, apart) << value;
        const bool tie = apart == error && (other & 0x80) == (found & 0x80) && other != found;
        EXPECT_FALSE(tie && found % 2 != 0) << value;
      }
    }
  }
}

TEST(Float8, WhatIsBeyondTheLargestBecomesTheLargest) {
  EXPECT_EQ(to_float8(1e9, kE4m3), 0x7e);
  EXPECT_EQ(to_float8(-std::numeric_limits<double>::infinity(), kE5m2), 0xfb);
  EXPECT_TRUE(std::isnan(from_float8(to_float8(std::nan(""), kE5m2), kE5m2)));
  EXPECT_EQ(to_float8(-0.0, kE4m3), 0x80);
}

}  // namespace
}  // namespace superstep::numerics
