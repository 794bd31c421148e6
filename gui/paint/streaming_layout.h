// SPDX-License-Identifier: Apache-2.0
// Streaming Memory over a step: what is held above, the bandwidth used against its roof below, prefetches at the foot;
// one time axis.
#pragma once

#include <QRectF>
#include <cstdint>

#include "gui/paint/axis.h"

namespace superstep::gui {

struct StreamingLayout {
  QRectF held, rate, ahead;
  LinearScale time;        // cycles on x
  LinearScale bytes;       // held, on y
  LinearScale per_second;  // rate, on y: the roof stands inside

  static StreamingLayout of(QRectF area, std::int64_t cycles, double most_held, double roof);

  QRectF held_bar(std::int64_t begin, std::int64_t cycles, double from, double to) const;
  QRectF rate_bar(std::int64_t begin, std::int64_t cycles, double from, double to) const;
  QRectF ahead_bar(std::int64_t begin, std::int64_t cycles) const;
};

}  // namespace superstep::gui
