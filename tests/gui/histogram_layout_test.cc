// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/histogram_layout.h"

#include <gmock/gmock.h>

namespace superstep::gui {
namespace {

using ::testing::ElementsAre;

TEST(HistogramLayout, BarsStandOnTheirValuesAndReachTheirCounts) {
  // 100 values on 200 pixels, 50 counts on 100 pixels.
  const auto layout = HistogramLayout::of(QRectF(10, 20, 200, 100), 500, 600, 50);
  EXPECT_EQ(layout.bar(510, 520, 50), QRectF(30, 20, 19, 100));
  EXPECT_EQ(layout.bar(510, 520, 25), QRectF(30, 70, 19, 50));
}

TEST(HistogramLayout, AFewOfManyAreSeenAndNoneIsFlat) {
  const auto layout = HistogramLayout::of(QRectF(0, 0, 100, 100), 0, 100, 1'000'000);
  EXPECT_EQ(layout.bar(0, 10, 1).height(), 2);
  EXPECT_EQ(layout.bar(0, 10, 0).height(), 0);
  EXPECT_GE(layout.bar(50, 50.001, 1).width(), 2);
}

TEST(HistogramLayout, BarsAreCutAtTheEndsOfTheAxis) {
  const auto layout = HistogramLayout::of(QRectF(0, 0, 100, 100), 0, 100, 1);
  EXPECT_EQ(layout.bar(-50, 10, 1).left(), 0);
}

TEST(HistogramLayout, TicksAreRoundNumbersBetweenTheEnds) {
  EXPECT_THAT(HistogramLayout::of(QRectF(0, 0, 100, 100), 470, 630, 1).ticks(4), ElementsAre(500, 550, 600));
}

}  // namespace
}  // namespace superstep::gui
