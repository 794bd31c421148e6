// SPDX-License-Identifier: Apache-2.0
// Memory over program steps: where a step stands, and what a pixel shows of the steps that share it.
#pragma once

#include <QRectF>
#include <cstdint>
#include <vector>

#include "gui/paint/axis.h"

namespace superstep::gui {

struct LivenessLayout {
  QRectF plot;
  LinearScale bytes;  // on y: begin is the base line
  int points = 0;

  static LivenessLayout of(QRectF plot, int points, double most);

  double x(double point) const;  // the left edge of a step
  int point_at(double x) const;  // clamped; -1 without points
  // One entry per pixel of the plot's width: the steps it holds, [first, end), never empty.
  struct Pixel {
    int first = 0, end = 0;
  };
  std::vector<Pixel> pixels() const;
};

// The point of the largest value in [first, end): what a pixel shows, so that no peak is lost.
int largest_in(const std::vector<std::int64_t>& values, LivenessLayout::Pixel pixel);

}  // namespace superstep::gui
