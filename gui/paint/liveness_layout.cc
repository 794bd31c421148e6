// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/liveness_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

LivenessLayout LivenessLayout::of(QRectF plot, int points, double most) {
  return {plot, {most, plot.bottom(), plot.top()}, points};
}

double LivenessLayout::x(double point) const { return plot.left() + point / std::max(1, points) * plot.width(); }

int LivenessLayout::point_at(double at) const {
  if (points == 0 || plot.width() <= 0) return -1;
  return std::clamp(static_cast<int>(std::floor((at - plot.left()) / plot.width() * points)), 0, points - 1);
}

std::vector<LivenessLayout::Pixel> LivenessLayout::pixels() const {
  const int width = points == 0 ? 0 : static_cast<int>(std::floor(plot.width()));
  std::vector<Pixel> out;
  for (int i = 0; i < width; ++i) {
    const int first = static_cast<int>(static_cast<std::int64_t>(i) * points / width);
    const int end = static_cast<int>((static_cast<std::int64_t>(i) + 1) * points / width);
    out.push_back({first, std::max(first + 1, end)});
  }
  return out;
}

int largest_in(const std::vector<std::int64_t>& values, LivenessLayout::Pixel pixel) {
  const auto begin = values.begin() + pixel.first;
  return static_cast<int>(std::max_element(begin, values.begin() + pixel.end) - values.begin());
}

}  // namespace superstep::gui
