// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/streaming_layout.h"

#include <algorithm>

namespace superstep::gui {
namespace {

constexpr double kTitle = 18;  // above each part
constexpr double kAhead = 16;  // the lane of prefetches

QRectF bar_of(const LinearScale& time, const LinearScale& value, std::int64_t begin, std::int64_t cycles, double from,
              double to) {
  const double left = time.at(static_cast<double>(begin)), right = time.at(static_cast<double>(begin + cycles));
  const double top = value.at(to);
  return {left, top, right - left, value.at(from) - top};
}

}  // namespace

StreamingLayout StreamingLayout::of(QRectF area, std::int64_t cycles, double most_held, double roof) {
  const double each = std::max(10.0, (area.height() - 3 * kTitle - kAhead) / 2);
  StreamingLayout out;
  out.held = QRectF(area.left(), area.top() + kTitle, area.width(), each);
  out.rate = QRectF(area.left(), out.held.bottom() + kTitle, area.width(), each);
  out.ahead = QRectF(area.left(), out.rate.bottom() + kTitle, area.width(), kAhead);
  out.time = {static_cast<double>(std::max<std::int64_t>(1, cycles)), area.left(), area.right()};
  out.bytes = {std::max(1.0, most_held * 1.08), out.held.bottom(), out.held.top()};
  out.per_second = {std::max(1.0, roof * 1.08), out.rate.bottom(), out.rate.top()};
  return out;
}

QRectF StreamingLayout::held_bar(std::int64_t begin, std::int64_t cycles, double from, double to) const {
  return bar_of(time, bytes, begin, cycles, from, to);
}

QRectF StreamingLayout::rate_bar(std::int64_t begin, std::int64_t cycles, double from, double to) const {
  return bar_of(time, per_second, begin, cycles, from, to);
}

QRectF StreamingLayout::ahead_bar(std::int64_t begin, std::int64_t cycles) const {
  const double left = time.at(static_cast<double>(begin)), right = time.at(static_cast<double>(begin + cycles));
  return {left, ahead.top(), right - left, ahead.height()};
}

}  // namespace superstep::gui
