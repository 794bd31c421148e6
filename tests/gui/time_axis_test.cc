// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/time_axis.h"

#include <gmock/gmock.h>

namespace superstep::gui {
namespace {

using ::testing::ElementsAre;

// 1000 cycles on pixels 0 to 500, of which 200 to 800 are drawn as 100: 500 positions, one to a pixel.
TEST(TimeAxisTest, AFoldTakesItsWidth) {
  const TimeAxis axis = TimeAxis::of(1000, {{200, 800, 100}}, {}, 0, 500);
  EXPECT_DOUBLE_EQ(axis.length(), 500);
  EXPECT_DOUBLE_EQ(axis.x_of(100), 100);
  EXPECT_DOUBLE_EQ(axis.x_of(500), 250);
  EXPECT_DOUBLE_EQ(axis.x_of(900), 400);
  EXPECT_EQ(axis.time_at(100), 100);
  EXPECT_EQ(axis.time_at(250), 500);
  EXPECT_EQ(axis.time_at(400), 900);
  EXPECT_EQ(axis.time_at(-5), 0);
  EXPECT_EQ(axis.time_at(900), 1000);
  EXPECT_EQ(axis.seen().size(), 3u);
}

TEST(TimeAxisTest, ZoomingKeepsTheTimeUnderTheCursor) {
  const TimeAxis axis = TimeAxis::of(10'000, {}, {}, 100, 600);
  const double at = axis.position_at(225);
  const TimeWindow window = axis.window.zoomed(0.5, at, axis.length());
  const TimeAxis closer = TimeAxis::of(10'000, {}, window, 100, 600);
  EXPECT_NEAR(closer.position_at(225), at, 1e-9);
  EXPECT_DOUBLE_EQ(closer.per_pixel(), axis.per_pixel() / 2);
  EXPECT_TRUE(window.zoomed(4, at, axis.length()).whole());
}

TEST(TimeAxisTest, PanningEndsAtTheEnds) {
  const TimeWindow window{100, 300};
  EXPECT_EQ(window.moved(-500, 1000), (TimeWindow{0, 200}));
  EXPECT_EQ(window.moved(5000, 1000), (TimeWindow{800, 1000}));
  EXPECT_EQ(TimeWindow{}.moved(50, 1000), TimeWindow{}) << "everything is seen: nowhere to go";
}

TEST(TimeAxisTest, TicksAreRoundAndWithinTheWindow) {
  EXPECT_THAT(ticks_between(12, 58, 9), ElementsAre(20, 30, 40, 50));
  EXPECT_THAT(ticks_between(0, 1, 0.4), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(ticks_between(0, 1, 0), ElementsAre());
}

}  // namespace
}  // namespace superstep::gui
