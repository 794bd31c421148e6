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

double GridLayout::column_edge(int column) const {
  if (edges.empty()) return edge(cells.left(), cells.width(), column, columns);
  return std::floor(cells.left() + cells.width() * edges[static_cast<std::size_t>(column)]);
}

QRectF GridLayout::cell(int row, int column) const {
  const QPointF first(column_edge(column), edge(cells.top(), cells.height(), row, rows));
  const QPointF last(column_edge(column + 1), edge(cells.top(), cells.height(), row + 1, rows));
  return {first, last};
}

int GridLayout::row_at(double y) const { return place(y, cells.top(), cells.height(), rows); }
int GridLayout::column_at(double x) const {
  if (edges.empty()) return place(x, cells.left(), cells.width(), columns);
  const double share = cells.width() > 0 ? (x - cells.left()) / cells.width() : -1;
  const auto after = std::upper_bound(edges.begin(), edges.end(), share) - edges.begin();
  return after >= 1 && after <= columns ? static_cast<int>(after) - 1 : -1;
}

int GridLayout::name_every(double width) const {
  const double one = cells.width() / std::max(1, columns);
  return one > 0 ? std::max(1, static_cast<int>(std::ceil(width / one))) : 1;
}

}  // namespace superstep::gui
