// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/difference_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

DifferenceLayout DifferenceLayout::of(QRectF area, const std::vector<double>& differences, double total) {
  DifferenceLayout out;
  out.area = area;
  double at = 0, least = std::min(0.0, total), most = std::max(0.0, total);
  for (const double difference : differences) {
    out.begins.push_back(at);
    at += difference;
    out.ends.push_back(at);
    least = std::min(least, at);
    most = std::max(most, at);
  }
  out.begins.push_back(0);
  out.ends.push_back(total);
  if (!(most > least)) most = least + 1;
  out.scale = {least, most, area.left(), area.right()};
  out.row_height = std::clamp(area.height() / out.rows(), 14.0, 26.0);
  return out;
}

QRectF DifferenceLayout::bar(int row) const {
  const auto i = static_cast<std::size_t>(row);
  const double a = scale.at(begins[i]), b = scale.at(ends[i]);
  const double height = row_height - 6;
  return {std::min(a, b), area.top() + row * row_height + 3, std::max(1.0, std::abs(b - a)), height};
}

}  // namespace superstep::gui
