// SPDX-License-Identifier: Apache-2.0
// Several steps on one time scale, whatever their clocks: the scale is in nanoseconds, each step's axis in its own
// cycles. Below, rows of lanes under a line that names their step.
#pragma once

#include <QRectF>
#include <vector>

#include "gui/paint/time_axis.h"

namespace superstep::gui {

struct SharedTime {
  std::int64_t nanoseconds = 1;  // of the longest step
  TimeWindow window;             // in nanoseconds
  double left = 0, right = 1;

  TimeAxis axis() const;
  // In cycles of the clock; its end is the longest step's, too.
  TimeAxis axis_of(double clock_hz) const;
};

struct SharedRows {
  static constexpr double kHead = 20, kAxis = 22, kLeast = 11, kMost = 30;
  std::vector<QRectF> heads;               // by step
  std::vector<std::vector<QRectF>> lanes;  // by step, its lanes
  QRectF axis;

  static SharedRows of(const QRectF& area, const std::vector<int>& lanes);
  static double least_height(const std::vector<int>& lanes);
};

}  // namespace superstep::gui
