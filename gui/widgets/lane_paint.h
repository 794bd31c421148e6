// SPDX-License-Identifier: Apache-2.0
// How stretches of lanes are drawn that are too short to be told apart, and axes of time.
#pragma once

#include <QColor>
#include <QPainter>
#include <functional>

#include "gui/base/theme.h"
#include "gui/models/pipeline_tables.h"
#include "gui/paint/time_axis.h"

namespace superstep::gui {

inline const QColor kDarkText(0x1B, 0x21, 0x27);  // of texts in light boxes

using FillOfWork = std::function<Fill(Work)>;
Fill plain_fill(Work work);

// Columns of two pixels whose heights are the shares of what is done; behind them waiting, hatched by what most of it
// is for. `clip`: the plot.
void paint_joined(QPainter& painter, const Timeline& timeline, const Lane& lane, const TimeAxis& axis,
                  const QRectF& row, std::int64_t from, std::int64_t to, const FillOfWork& fill = plain_fill);

// What a box is made of, one share after the other.
void paint_box(QPainter& painter, const Lane& lane, const Slice& slice, const QRectF& box,
               const FillOfWork& fill = plain_fill);

// The whole step as one strip of all IPUs' shares, with frames around what is seen. The shares are added up once for a
// timeline and a width, not for every frame.
class Overview {
 public:
  void paint(QPainter& painter, const TimelinePointer& timeline, const QRectF& strip, const TimeAxis& seen,
             const Theme& theme);

 private:
  TimelinePointer of_;
  double width_ = 0;
  std::vector<WorkCycles> columns_;
};

// Ticks with their times below `rect`'s top.
void paint_time_axis(QPainter& painter, const Timeline& timeline, const TimeAxis& axis, const QRectF& rect,
                     bool in_cycles, const Theme& theme);

}  // namespace superstep::gui
