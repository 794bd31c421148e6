// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/shared_time.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

TEST(SharedTime, EqualTimesStandBelowEachOtherWhateverTheClock) {
  SharedTime time{2'000'000, {}, 100, 500};  // 2 ms
  for (const TimeWindow& window : {TimeWindow{}, TimeWindow{500'000, 1'500'000}}) {
    time.window = window;
    const TimeAxis slow = time.axis_of(1e9), fast = time.axis_of(1.5e9);
    for (const std::int64_t us : {0, 600, 1000, 1400, 2000}) {
      EXPECT_NEAR(slow.x_of(us * 1000), fast.x_of(us * 1500), 1e-6) << us;
      EXPECT_NEAR(slow.x_of(us * 1000), time.axis().x_of(us * 1000), 1e-6) << us;
    }
  }
  EXPECT_DOUBLE_EQ(time.axis_of(1e9).x_of(1'000'000), 300) << "in the middle of the window";
}

TEST(SharedTime, RowsStandBelowTheirHeads) {
  const std::vector<int> lanes{4, 8};
  const SharedRows rows = SharedRows::of(QRectF(80, 4, 400, 400), lanes);
  ASSERT_EQ(rows.heads.size(), 2u);
  ASSERT_EQ(rows.lanes[1].size(), 8u);
  EXPECT_GE(rows.lanes[0][0].top(), rows.heads[0].bottom());
  EXPECT_GE(rows.heads[1].top(), rows.lanes[0][3].bottom());
  EXPECT_LE(rows.axis.bottom(), 404.001);
  const SharedRows low = SharedRows::of(QRectF(80, 0, 400, 10), lanes);
  EXPECT_DOUBLE_EQ(low.axis.bottom(), SharedRows::least_height(lanes)) << "scrolls when there is less room";
}

}  // namespace
}  // namespace superstep::gui
