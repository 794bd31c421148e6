// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/stack_layout.h"

#include <gtest/gtest.h>

#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

TEST(StackLayout, AlwaysLiveStandsBelow) {
  const StackInput input{{10, 20, -5, 30}, {false, true, true, false}};
  const auto segments = stacked(input);
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_EQ(segments[0].category, 1);
  EXPECT_EQ(segments[1].category, 2);
  EXPECT_EQ(segments[1].from, segments[1].to) << "a negative size takes no room";
  EXPECT_EQ(segments[2].category, 0);
  EXPECT_EQ(segments[3].to, 60);
  EXPECT_EQ(always_live_top(input), 20);
}

TEST(StackLayout, AStackIsAsHighAsThePeak) {
  const auto index = example_report(Example::tight).index;
  for (const auto& ipu : index.ipu_classes()) {
    const MemoryStack stack = memory_stack(ipu);
    EXPECT_EQ(stack.top, ipu.tile_peak_bytes());
    EXPECT_EQ(stack.always_live, always_live_bytes(ipu));
  }
}

TEST(StackLayout, SegmentsMeetAndColumnsAreFound) {
  const auto layout = ColumnLayout::of(QRectF(50, 20, 400, 300), 4, 600);
  const QRectF lower = layout.segment(2, {0, 0, 200});
  const QRectF upper = layout.segment(2, {1, 200, 600});
  EXPECT_DOUBLE_EQ(lower.bottom(), 320);
  EXPECT_DOUBLE_EQ(lower.top(), upper.bottom());
  EXPECT_DOUBLE_EQ(upper.top(), 20);
  for (int column = 0; column < 4; ++column) {
    EXPECT_EQ(layout.column_at(layout.bar(column).center().x()), column);
    EXPECT_TRUE(layout.slot(column).contains(layout.bar(column)));
  }
  EXPECT_EQ(layout.column_at(10), -1);
  EXPECT_EQ(layout.column_at(450), -1);
}

}  // namespace
}  // namespace superstep::gui
