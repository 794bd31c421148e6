// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/grid_layout.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

TEST(GridLayout, CellsMeetAndAreFound) {
  const GridLayout grid{QRectF(40, 10, 100, 50), 3, 7};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 7; ++column) {
      const QRectF cell = grid.cell(row, column);
      if (column > 0) {
        EXPECT_EQ(cell.left(), grid.cell(row, column - 1).right());
      }
      if (row > 0) {
        EXPECT_EQ(cell.top(), grid.cell(row - 1, column).bottom());
      }
      EXPECT_EQ(grid.row_at(cell.center().y()), row);
      EXPECT_EQ(grid.column_at(cell.center().x()), column);
    }
  }
  EXPECT_EQ(grid.cell(2, 6).bottomRight(), grid.cells.bottomRight());
  EXPECT_EQ(grid.column_at(39), -1);
  EXPECT_EQ(grid.column_at(141), -1);
  EXPECT_EQ(grid.row_at(60), -1);
}

TEST(GridLayout, NamesAreThinnedOut) {
  const GridLayout grid{QRectF(0, 0, 100, 10), 1, 10};
  EXPECT_EQ(grid.name_every(9), 1);
  EXPECT_EQ(grid.name_every(25), 3);
  EXPECT_EQ((GridLayout{QRectF(), 0, 0}).name_every(5), 1);
}

}  // namespace
}  // namespace superstep::gui
