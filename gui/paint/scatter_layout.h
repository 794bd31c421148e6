// SPDX-License-Identifier: Apache-2.0
// Dots over two axes that need not begin at 0, and boxes beside dots that cover neither dots nor each other.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

namespace superstep::gui {

// From `least` to `most` on pixels from `begin` to `end`.
struct RangeScale {
  double least = 0, most = 1;
  double begin = 0, end = 1;
  double at(double value) const;
};

// Multiples of 1, 2 or 5 times a power of ten within [least, most].
std::vector<double> range_ticks(double least, double most, int wanted);

struct ScatterLayout {
  QRectF plot;
  RangeScale x, y;
  std::vector<QPointF> dots;

  // A value that is not a number gives a dot that is nowhere. Both axes have some room around the values; `also` is one
  // that the x axis has to reach (a limit), if any is near: within twice the values' range.
  static ScatterLayout of(QRectF plot, const std::vector<double>& xs, const std::vector<double>& ys, double also_x,
                          double also_y);
  int nearest(QPointF point, double within) const;  // -1: no dot so near
  // Where a box of that size stands best beside a dot, clear of dots and of the boxes in `taken`.
  QRectF box_beside(int dot, QSizeF size, const std::vector<QRectF>& taken) const;
};

}  // namespace superstep::gui
