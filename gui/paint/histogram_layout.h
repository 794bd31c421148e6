// SPDX-License-Identifier: Apache-2.0
// Where the bars of a histogram stand. Pixels.
#pragma once

#include <QRectF>
#include <cstdint>
#include <vector>

#include "gui/paint/axis.h"

namespace superstep::gui {

struct HistogramLayout {
  QRectF plot;
  double from = 0, to = 1;  // of the values on x
  LinearScale scale;        // counts on y: begin is the base line

  // Bars of counts up to `most` between values `from` and `to`.
  static HistogramLayout of(QRectF plot, double from, double to, std::int64_t most);
  double x(double value) const;
  // A pixel of air at its right, at least two pixels high where there is anything.
  QRectF bar(double from_value, double to_value, std::int64_t count) const;
  // Multiples of 1, 2 or 5 between the ends, about `wanted`.
  std::vector<double> ticks(int wanted) const;
};

}  // namespace superstep::gui
