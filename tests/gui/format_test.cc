// SPDX-License-Identifier: Apache-2.0
#include "gui/base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace superstep::gui {
namespace {

QString spaced(const char* text) {
  return QString::fromUtf8(text).replace('_', QChar(0x202F)).replace('~', QChar(0x2212));
}

TEST(Format, ThousandsAreGroupedAndTheMinusIsReal) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(622740), spaced("622_740"));
  EXPECT_EQ(grouped(-1964), spaced("~1_964"));
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), spaced("~9_223_372_036_854_775_808"));
  EXPECT_EQ(fixed_decimals(-1964.21, 1), spaced("~1_964.2"));
  EXPECT_EQ(fixed_decimals(-0.04, 1), "0.0");
  EXPECT_EQ(fixed_decimals(std::numeric_limits<double>::quiet_NaN(), 1), "n/a");
}

TEST(Format, BytesFollowTheUnits) {
  EXPECT_EQ(tile_bytes_text(622740, Units::kib), "608.1 KiB");
  EXPECT_EQ(tile_bytes_text(622740, Units::bytes), spaced("622_740 bytes"));
}

TEST(Format, MillisecondsHaveTheDecimalsOfTheWhole) {
  EXPECT_EQ(milliseconds(0.388, 1.962), "388.0");
  EXPECT_EQ(milliseconds(0.0005, 0.02), "0.500");
}

TEST(Format, SentencesAreRespelled) {
  EXPECT_EQ(for_viewer("1,964 ms, -3.2 % of p-4, t=1"), spaced("1_964 ms, ~3.2 % of p-4, t=1"));
}

}  // namespace
}  // namespace superstep::gui
