// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/color_map.h"

#include <gtest/gtest.h>

#include "gui/base/theme.h"

namespace superstep::gui {
namespace {

// Of WCAG, against black: 1 for black, 21 for white.
double light(const QColor& color) { return contrast(color, QColor(0, 0, 0)); }

TEST(ColorMaps, GetLighterAllTheWay) {
  for (const ColorMap& map : color_maps()) {
    for (int i = 0; i < 100; ++i) EXPECT_LE(light(map.at(i / 100.0)), light(map.at((i + 1) / 100.0))) << map.name << i;
    EXPECT_GT(light(map.at(1)), 4 * light(map.at(0))) << map.name;
  }
}

TEST(ColorMaps, TheirEndsAreThePublishedOnes) {
  EXPECT_EQ(color_map("viridis").at(0), QColor(68, 1, 84));
  EXPECT_EQ(color_map("cividis").at(0), QColor(0, 32, 77));
  EXPECT_EQ(color_map("cividis").at(1), QColor(255, 234, 70));
  EXPECT_EQ(color_map("cividis").at(7), color_map("cividis").at(1)) << "beyond the end";
}

TEST(ColorMaps, AnUnknownNameIsTheUsualOne) { EXPECT_STREQ(color_map("rainbow").name, color_maps().front().name); }

}  // namespace
}  // namespace superstep::gui
