// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/axis.h"

#include <gmock/gmock.h>

#include <limits>

namespace superstep::gui {
namespace {

using ::testing::ElementsAre;

TEST(Axis, ScalesMapBothWays) {
  const LinearScale scale{200, 10, 110};
  EXPECT_DOUBLE_EQ(scale.at(50), 35);
  EXPECT_DOUBLE_EQ(scale.value_at(35), 50);
  const LinearScale upwards{200, 100, 0};
  EXPECT_DOUBLE_EQ(upwards.at(200), 0);
  EXPECT_DOUBLE_EQ(upwards.at(50), 75);
}

TEST(Axis, NonsenseStandsAtTheBeginning) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ((LinearScale{200, 10, 110}).at(kNan), 10);
  EXPECT_DOUBLE_EQ((LinearScale{0, 10, 110}).at(5), 10);
  EXPECT_DOUBLE_EQ((LinearScale{kNan, 10, 110}).at(5), 10);
  EXPECT_DOUBLE_EQ((LinearScale{200, 10, 110}).at(-5), 10);
}

TEST(Axis, TicksAreOneTwoFive) {
  EXPECT_THAT(nice_ticks(1964, 4), ElementsAre(0, 500, 1000, 1500));
  EXPECT_THAT(nice_ticks(643, 6), ElementsAre(0, 200, 400, 600));
  EXPECT_THAT(nice_ticks(1, 5), ElementsAre(0, 0.2, 0.4, 0.2 * 3, 0.8, 1));
  EXPECT_THAT(nice_ticks(0, 5), ElementsAre(0));
  EXPECT_THAT(nice_ticks(std::numeric_limits<double>::infinity(), 5), ElementsAre(0));
}

}  // namespace
}  // namespace superstep::gui
