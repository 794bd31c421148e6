// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/time_axis.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

namespace {
constexpr double kLeastCycles = 64;
}

TimeWindow TimeWindow::resolved(double length) const {
  if (whole()) return {0, length};
  const double span = std::clamp(to - from, std::min(kLeastCycles, length), length);
  const double begin = std::clamp(from, 0.0, length - span);
  return {begin, begin + span};
}

TimeWindow TimeWindow::zoomed(double factor, double at, double length) const {
  const TimeWindow now = resolved(length);
  const double span = std::clamp((now.to - now.from) * factor, std::min(kLeastCycles, length), length);
  if (span >= length) return {};
  const double share = now.to > now.from ? std::clamp((at - now.from) / (now.to - now.from), 0.0, 1.0) : 0.5;
  return TimeWindow{at - share * span, at + (1 - share) * span}.resolved(length);
}

TimeWindow TimeWindow::moved(double by, double length) const {
  if (whole()) return {};
  return TimeWindow{from + by, to + by}.resolved(length);
}

TimeAxis TimeAxis::of(std::int64_t cycles, const std::vector<TimeFold>& folds, const TimeWindow& window, double left,
                      double right) {
  TimeAxis axis;
  std::int64_t at = 0;
  double position = 0;
  const auto add = [&](std::int64_t to, double width, bool folded) {
    if (to <= at) return;
    axis.pieces.push_back({at, to, position, position + width, folded});
    at = to;
    position += width;
  };
  for (const TimeFold& fold : folds) {
    add(fold.from, static_cast<double>(fold.from - at), false);
    add(fold.to, fold.width, true);
  }
  add(cycles, static_cast<double>(cycles - at), false);
  axis.window = window.resolved(axis.length());
  axis.left = left;
  axis.right = std::max(right, left + 1);
  return axis;
}

bool TimeAxis::is_folded(std::int64_t time) const {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& p) { return p.folded && time >= p.from && time < p.to; });
}

double TimeAxis::position_of(std::int64_t time) const {
  if (pieces.empty()) return 0;
  auto piece =
      std::upper_bound(pieces.begin(), pieces.end(), time, [](std::int64_t t, const Piece& p) { return t < p.to; });
  if (piece == pieces.end()) return length();
  const double share = static_cast<double>(time - piece->from) / static_cast<double>(piece->to - piece->from);
  return piece->begin + share * (piece->end - piece->begin);
}

std::int64_t TimeAxis::time_of(double position) const {
  if (pieces.empty()) return 0;
  auto piece =
      std::upper_bound(pieces.begin(), pieces.end(), position, [](double p, const Piece& q) { return p < q.end; });
  if (piece == pieces.end()) return pieces.back().to;
  const double share = std::max(0.0, (position - piece->begin) / (piece->end - piece->begin));
  return piece->from + static_cast<std::int64_t>(share * static_cast<double>(piece->to - piece->from));
}

double TimeAxis::x_at(double position) const {
  return left + (position - window.from) / (window.to - window.from) * (right - left);
}
double TimeAxis::position_at(double x) const {
  return window.from + (x - left) / (right - left) * (window.to - window.from);
}
double TimeAxis::x_of(std::int64_t time) const { return x_at(position_of(time)); }
std::int64_t TimeAxis::time_at(double x) const { return time_of(position_at(x)); }
double TimeAxis::per_pixel() const { return (window.to - window.from) / (right - left); }

std::vector<TimeAxis::Piece> TimeAxis::seen() const {
  std::vector<Piece> out;
  for (Piece piece : pieces) {
    if (piece.end <= window.from || piece.begin >= window.to) continue;
    if (!piece.folded) {
      piece.from = time_of(std::max(piece.begin, window.from));
      if (piece.end > window.to) piece.to = time_of(window.to);
      piece.begin = std::max(piece.begin, window.from);
      piece.end = std::min(piece.end, window.to);
    }
    out.push_back(piece);
  }
  return out;
}

std::vector<double> ticks_between(double from, double to, double least) {
  std::vector<double> ticks;
  if (!(least > 0) || !std::isfinite(least) || !(to >= from)) return ticks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * 0.999) {
      step = factor * power;
      break;
    }
  }
  const double first = std::ceil(from / step - 1e-9);
  for (double i = first; i * step <= to * (1 + 1e-12) && ticks.size() < 1000; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace superstep::gui
