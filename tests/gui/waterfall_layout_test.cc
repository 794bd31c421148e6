// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/waterfall_layout.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

TEST(WaterfallLayout, BarsFollowOneAnotherUpToTheTotal) {
  const auto layout = WaterfallLayout::of({0.4, 0.1, 0.5}, 600, 400, 120, 50);
  EXPECT_EQ(layout.rows(), 4);
  EXPECT_DOUBLE_EQ(layout.bar(0).left(), layout.scale.begin);
  EXPECT_DOUBLE_EQ(layout.bar(1).left(), layout.bar(0).right());
  EXPECT_DOUBLE_EQ(layout.bar(2).left(), layout.bar(1).right());
  EXPECT_NEAR(layout.bar(2).right(), layout.scale.end, 1e-9);
  EXPECT_DOUBLE_EQ(layout.bar(3).left(), layout.scale.begin) << "the total starts at 0";
  EXPECT_NEAR(layout.bar(3).width(), layout.scale.end - layout.scale.begin, 1e-9);
  EXPECT_NEAR(layout.bar(0).width() / layout.bar(1).width(), 4, 1e-9);
}

TEST(WaterfallLayout, EveryTermWithTimeIsSeen) {
  const auto layout = WaterfallLayout::of({1.0, 1e-9, 0.0}, 600, 400, 120, 50);
  EXPECT_DOUBLE_EQ(layout.bar(1).width(), 1);
  EXPECT_DOUBLE_EQ(layout.bar(2).width(), 0);
}

TEST(WaterfallLayout, RowsShrinkToALimitAndAreFoundAgain) {
  const auto tall = WaterfallLayout::of(std::vector<double>(16, 1.0), 500, 900, 120, 50);
  EXPECT_DOUBLE_EQ(tall.row_height, WaterfallLayout::kMostRow);
  const auto low = WaterfallLayout::of(std::vector<double>(16, 1.0), 500, 100, 120, 50);
  EXPECT_DOUBLE_EQ(low.row_height, WaterfallLayout::kLeastRow);
  for (int row = 0; row < low.rows(); ++row) EXPECT_EQ(low.row_at(low.row(row).center().y()), row);
  EXPECT_EQ(low.row_at(0), -1);
  EXPECT_EQ(low.row_at(low.height() + 1), -1);
}

TEST(WaterfallLayout, LongNamesLeaveRoomForTheBars) {
  const auto errors = WaterfallLayout::of({0.4, 0.1, 0.5}, 600, 400, 120, 50, 0, 40);
  EXPECT_TRUE(errors.has_errors());
  EXPECT_EQ(errors.number_right, errors.error_right - 48);
  EXPECT_LE(errors.scale.end, errors.number_right - 50);
  const auto layout = WaterfallLayout::of({1.0}, 300, 200, 1000, 40);
  EXPECT_FALSE(layout.has_errors());
  EXPECT_GE(layout.scale.end - layout.scale.begin, 20);
  EXPECT_LE(layout.scale.end, layout.number_right);
  EXPECT_LE(12 + layout.label_width, layout.scale.begin);
}

}  // namespace
}  // namespace superstep::gui
