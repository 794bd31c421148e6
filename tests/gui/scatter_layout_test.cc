// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/scatter_layout.h"

#include <gmock/gmock.h>

namespace superstep::gui {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

const QRectF kPlot(100, 20, 500, 300);

TEST(ScatterLayout, TicksStandWithinTheRange) {
  EXPECT_THAT(range_ticks(312, 648, 4), ElementsAre(400, 500, 600));
  EXPECT_THAT(range_ticks(-1, 1, 4), ElementsAre(-1, -0.5, DoubleNear(0, 1e-12), 0.5, 1));
  EXPECT_TRUE(range_ticks(3, 3, 4).empty());
  EXPECT_TRUE(range_ticks(0, 1.0 / 0.0, 4).empty());
}

TEST(ScatterLayout, DotsStandWithinThePlotWithRoomAround) {
  const auto layout = ScatterLayout::of(kPlot, {300, 400, 620}, {10, 20, 15}, 624, 0);
  for (const QPointF& dot : layout.dots) EXPECT_TRUE(kPlot.adjusted(5, 5, -5, -5).contains(dot));
  EXPECT_LT(layout.dots[1].y(), layout.dots[0].y()) << "more is higher";
  EXPECT_GT(layout.x.most, 624) << "the limit is seen";
  EXPECT_GE(layout.y.least, 0);
}

TEST(ScatterLayout, AFarLimitDoesNotSqueezeTheDots) {
  const auto layout = ScatterLayout::of(kPlot, {10, 11}, {1, 2}, 100000, 0);
  EXPECT_LT(layout.x.most, 20);
}

TEST(ScatterLayout, OneDotAndNoDots) {
  const auto one = ScatterLayout::of(kPlot, {5}, {7}, 0, 0);
  EXPECT_TRUE(kPlot.contains(one.dots[0]));
  EXPECT_EQ(one.nearest(one.dots[0] + QPointF(3, 0), 5), 0);
  EXPECT_EQ(one.nearest(one.dots[0] + QPointF(9, 0), 5), -1);
  EXPECT_EQ(ScatterLayout::of(kPlot, {}, {}, 0, 0).nearest({0, 0}, 1e9), -1);
}

TEST(ScatterLayout, LabelsCoverNeitherDotsNorEachOther) {
  const auto layout = ScatterLayout::of(kPlot, {300, 310, 620}, {10, 10.5, 15}, 0, 0);
  std::vector<QRectF> boxes;
  for (int dot = 0; dot < 3; ++dot) {
    const QRectF box = layout.box_beside(dot, {150, 36}, boxes);
    EXPECT_TRUE(kPlot.contains(box));
    for (const QPointF& at : layout.dots) EXPECT_FALSE(box.contains(at));
    for (const QRectF& other : boxes) EXPECT_FALSE(box.intersects(other));
    boxes.push_back(box);
  }
}

}  // namespace
}  // namespace superstep::gui
