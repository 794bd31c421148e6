// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/grid_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

// Edges on whole pixels, so that cells meet without gaps.
double edge(double from, double size, int at, int of) { return std::floor(from + size * at / std::max(1, of)); }

int place(double at, double from, double size, int of) {
  const int found = of > 0 && size > 0 ? static_cast<int>(std::floor((at - from) / size * of)) : -1;
  return found >= 0 && found < of ? found : -1;
}

}  // namespace

QRectF GridLayout::cell(int row, int column) const {
  const QPointF first(edge(cells.left(), cells.width(), column, columns), edge(cells.top(), cells.height(), row, rows));
  const QPointF last(edge(cells.left(), cells.width(), column + 1, columns),
                     edge(cells.top(), cells.height(), row + 1, rows));
  return {first, last};
}

int GridLayout::row_at(double y) const { return place(y, cells.top(), cells.height(), rows); }
int GridLayout::column_at(double x) const { return place(x, cells.left(), cells.width(), columns); }

int GridLayout::name_every(double width) const {
  const double one = cells.width() / std::max(1, columns);
  return one > 0 ? std::max(1, static_cast<int>(std::ceil(width / one))) : 1;
}

}  // namespace superstep::gui
