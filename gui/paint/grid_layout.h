// SPDX-License-Identifier: Apache-2.0
// A grid of named rows and columns: cells, names, and which is under the mouse.
#pragma once

#include <QRectF>
#include <vector>

namespace superstep::gui {

struct GridLayout {
  QRectF cells;
  int rows = 0, columns = 0;
  std::vector<double> edges = {};  // of columns, from 0 to 1; empty: all are alike

  QRectF cell(int row, int column) const;
  int row_at(double y) const;            // -1: none
  int column_at(double x) const;         // -1: none
  double column_edge(int column) const;  // x
  // Every how many columns a name of that width can stand under its cell.
  int name_every(double width) const;
};

}  // namespace superstep::gui
