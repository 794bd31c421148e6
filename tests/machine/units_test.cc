// SPDX-License-Identifier: Apache-2.0
#include "model/units.h"

#include <gtest/gtest.h>

#include <concepts>

namespace superstep {
namespace {

using namespace literals;

TEST(Units, AddAndCompareOnlyWithTheirOwnKind) {
  EXPECT_EQ(2_KiB + 24_B, Bytes(2072));
  EXPECT_LT(100_cyc, 101_cyc);
  EXPECT_EQ(3 * 7_cyc, 21_cyc);
  EXPECT_DOUBLE_EQ(1_KiB / 256_B, 4.0);
  static_assert(!std::equality_comparable_with<Cycles, Bytes>);
  static_assert(!std::convertible_to<std::int64_t, Cycles>);
}

TEST(Units, DivisionsRoundUp) {
  EXPECT_EQ(ceil_div(7, 2), 4);
  EXPECT_EQ(ceil_div(8, 2), 4);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(share(10_B, 3), 4_B);
}

TEST(Units, AStartedCycleCounts) {
  EXPECT_EQ(transfer_time(9_B, BytesPerCycle(4)), 3_cyc);
  EXPECT_EQ(transfer_time(8_B, BytesPerCycle(4)), 2_cyc);
  EXPECT_EQ(cycles_in(Seconds(1.5e-6), Hertz(1e6)), 2_cyc);
  EXPECT_EQ(cycles_in(Seconds(2e-6), Hertz(1e6)), 2_cyc);
}

TEST(Units, TimeAtAClock) {
  EXPECT_DOUBLE_EQ(at_clock(1325_cyc, Hertz(1.325e9)).value, 1e-6);
  EXPECT_DOUBLE_EQ(transfer_time(Bytes(16'000'000'000), BytesPerSecond(16e9)).value, 1.0);
}

}  // namespace
}  // namespace superstep
