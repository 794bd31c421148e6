// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/chip_layout.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

TEST(ChipLayout, TilesStandInRowsOf32InTheOrderOfTheirNumbers) {
  const auto layout = ChipLayout::of(QRectF(40, 8, 330, 480), 1472);
  EXPECT_EQ(layout.columns, 32);
  EXPECT_EQ(layout.rows(), 46);
  EXPECT_EQ(layout.cell_size, 10);
  EXPECT_EQ(layout.cell(0), QRectF(40, 8, 10, 10));
  EXPECT_EQ(layout.cell(33), QRectF(50, 18, 10, 10));
}

TEST(ChipLayout, EveryTileIsFoundWhereItStands) {
  for (const std::int64_t tiles : {1, 4, 31, 1472, 8192}) {
    const auto layout = ChipLayout::of(QRectF(3, 5, 290, 400), tiles);
    for (std::int64_t tile = 0; tile < tiles; ++tile) EXPECT_EQ(layout.tile_at(layout.cell(tile).center()), tile);
    EXPECT_EQ(layout.tile_at(layout.cell(tiles - 1).bottomRight() + QPointF(1, 1)), -1);
    EXPECT_EQ(layout.tile_at(QPointF(0, 0)), -1);
  }
}

TEST(ChipLayout, ManyTilesStandInLongerRows) {
  const auto layout = ChipLayout::of(QRectF(0, 0, 300, 200), 8192);
  EXPECT_GT(layout.columns, 32);
  EXPECT_LE(layout.grid.width(), 300);
}

}  // namespace
}  // namespace superstep::gui
