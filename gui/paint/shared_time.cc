// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/shared_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace superstep::gui {
namespace {

double sum_of(const std::vector<int>& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0); }

}  // namespace

TimeAxis SharedTime::axis() const { return TimeAxis::of(nanoseconds, {}, window, left, right); }

TimeAxis SharedTime::axis_of(double clock_hz) const {
  const double cycles = clock_hz / 1e9;  // in a nanosecond
  const TimeWindow seen = axis().window;
  TimeAxis out;
  out.pieces.push_back({0, static_cast<std::int64_t>(std::ceil(static_cast<double>(nanoseconds) * cycles)), 0,
                        static_cast<double>(nanoseconds) * cycles, false});
  out.window = {seen.from * cycles, seen.to * cycles};
  out.left = left, out.right = right;
  return out;
}

double SharedRows::least_height(const std::vector<int>& lanes) {
  return static_cast<double>(lanes.size()) * kHead + sum_of(lanes) * kLeast + kAxis;
}

SharedRows SharedRows::of(const QRectF& area, const std::vector<int>& lanes) {
  SharedRows out;
  const double left = area.height() - static_cast<double>(lanes.size()) * kHead - kAxis;
  const double pitch = std::clamp(left / std::max(1.0, sum_of(lanes)), kLeast, kMost);
  double y = area.top();
  for (const int count : lanes) {
    out.heads.emplace_back(area.left(), y, area.width(), kHead);
    y += kHead;
    out.lanes.emplace_back();
    for (int i = 0; i < count; ++i, y += pitch) out.lanes.back().emplace_back(area.left(), y, area.width(), pitch - 2);
  }
  out.axis = QRectF(area.left(), y, area.width(), kAxis);
  return out;
}

}  // namespace superstep::gui
