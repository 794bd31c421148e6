// SPDX-License-Identifier: Apache-2.0
// A waterfall of differences: each bar begins where the one before ended, the last is their sum from zero.
#pragma once

#include <QRectF>
#include <vector>

#include "gui/paint/scatter_layout.h"

namespace superstep::gui {

struct DifferenceLayout {
  RangeScale scale;
  QRectF area;  // of the bars
  double row_height = 20;
  std::vector<double> begins, ends;  // values, by row; the last row is the total

  static DifferenceLayout of(QRectF area, const std::vector<double>& differences, double total);
  int rows() const { return static_cast<int>(begins.size()); }
  QRectF bar(int row) const;  // at least a pixel wide
};

}  // namespace superstep::gui
