// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/phase_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace superstep::gui {

std::int64_t PhaseLayout::total() const { return std::accumulate(cycles.begin(), cycles.end(), std::int64_t{0}); }

QRectF PhaseLayout::cell(int lane, int phase) const {
  const auto before = std::accumulate(cycles.begin(), cycles.begin() + phase, std::int64_t{0});
  const auto all = static_cast<double>(std::max<std::int64_t>(1, total()));
  const double left = plot.left() + static_cast<double>(before) / all * plot.width();
  const double width = static_cast<double>(cycles[static_cast<std::size_t>(phase)]) / all * plot.width();
  const double height = plot.height() / std::max(1, lanes);
  return {left, plot.top() + lane * height, width, height};
}

QRectF PhaseLayout::busy(int lane, int phase, std::int64_t work) const {
  const QRectF whole = cell(lane, phase).adjusted(0, 4, 0, -4);
  const auto takes = static_cast<double>(std::max<std::int64_t>(1, cycles[static_cast<std::size_t>(phase)]));
  const double share = std::clamp(static_cast<double>(work) / takes, 0.0, 1.0);
  return {whole.left(), whole.bottom() - share * whole.height(), whole.width(), share * whole.height()};
}

int PhaseLayout::phase_at(double x) const {
  for (int phase = 0; phase < static_cast<int>(cycles.size()); ++phase) {
    const QRectF at = cell(0, phase);
    if (x >= at.left() && x < at.right()) return phase;
  }
  return -1;
}

}  // namespace superstep::gui
