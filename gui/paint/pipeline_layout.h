// SPDX-License-Identifier: Apache-2.0
// Where the rows of the pipeline stand, and what of the step is folded. Pixels.
#pragma once

#include <QRectF>
#include <vector>

#include "gui/models/timeline.h"
#include "gui/paint/time_axis.h"

namespace superstep::gui {

struct PipelineLayout {
  static constexpr double kLeft = 134;  // IPU names, memory bars
  static constexpr double kRight = 12;
  static constexpr double kTop = 8;
  static constexpr double kAxis = 22;
  static constexpr double kLeastPitch = 30;
  static constexpr double kMostPitch = 90;
  static constexpr double kStream = 9;  // at least, of what streams beside an IPU

  struct Row {
    int lane = 0;
    QRectF rect;          // of its boxes, over the plot's width
    bool stream = false;  // beside the IPU above
  };
  QRectF overview;  // the whole step, true scale
  QRectF heads;     // cycle numbers and names of parts
  QRectF lanes;
  QRectF axis;
  std::vector<Row> rows;

  static PipelineLayout of(const Timeline& timeline, double width, double height);
  static double least_height(const Timeline& timeline);
  const Row* row_at(double y) const;  // the streams of an IPU are part of it where they are hit; null: none
  const Row* row_of(int lane) const;
};

// The lane that the others wait for, from `from` to `to`; -1: cycles are too short to tell.
struct CriticalRun {
  int lane = -1;
  std::int64_t from = 0, to = 0;
};
// Backwards from `to`: a lane stays the critical one until it waits for another, which then is. Cycles shorter than
// `least` are not looked into.
std::vector<CriticalRun> critical_path(const Timeline& timeline, std::int64_t from, std::int64_t to,
                                       std::int64_t least);

// Equal cycles beyond four at either end, drawn as wide as one.
std::vector<TimeFold> folds_of(const Timeline& timeline);

}  // namespace superstep::gui
