// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/histogram_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

HistogramLayout HistogramLayout::of(QRectF plot, double from, double to, std::int64_t most) {
  HistogramLayout out;
  out.plot = plot;
  out.from = from, out.to = std::max(to, from + 1);
  out.scale = {static_cast<double>(std::max<std::int64_t>(1, most)), plot.bottom(), plot.top()};
  return out;
}

double HistogramLayout::x(double value) const { return plot.left() + (value - from) / (to - from) * plot.width(); }

QRectF HistogramLayout::bar(double from_value, double to_value, std::int64_t count) const {
  const double left = std::round(x(std::max(from, from_value))), right = std::round(x(std::min(to, to_value)));
  const double wide = std::max(2.0, right - left - 1);
  if (count <= 0) return {left, plot.bottom(), wide, 0};
  const double top = std::min(scale.at(static_cast<double>(count)), plot.bottom() - 2);
  return {left, top, wide, plot.bottom() - top};
}

std::vector<double> HistogramLayout::ticks(int wanted) const {
  const std::vector<double> steps = nice_ticks(to - from, wanted);
  const double step = steps.size() > 1 ? steps[1] : to - from;
  std::vector<double> out;
  for (double at = std::ceil(from / step) * step; at <= to; at += step) out.push_back(at);
  return out;
}

}  // namespace superstep::gui
