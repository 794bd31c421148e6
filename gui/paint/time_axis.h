// SPDX-License-Identifier: Apache-2.0
// Time on pixels: which part of the step is seen, with stretches of equal cycles folded to a strip. Positions on the
// folded axis are doubles in cycles of the clock; without folds they are the times.
#pragma once

#include <cstdint>
#include <vector>

namespace superstep::gui {

// A stretch drawn as if it took `width` cycles.
struct TimeFold {
  std::int64_t from = 0, to = 0;
  double width = 0;
};

// The part seen, in positions. All zero: everything.
struct TimeWindow {
  double from = 0, to = 0;
  bool whole() const { return to <= from; }
  // `factor` below 1 zooms in; the position stays where it is. At least 64 cycles, at most `length`.
  TimeWindow zoomed(double factor, double at, double length) const;
  TimeWindow moved(double by, double length) const;
  TimeWindow resolved(double length) const;
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

struct TimeAxis {
  struct Piece {
    std::int64_t from = 0, to = 0;  // times
    double begin = 0, end = 0;      // positions
    bool folded = false;
  };
  std::vector<Piece> pieces;  // the whole step
  TimeWindow window;          // resolved
  double left = 0, right = 1;

  // `folds` in order, disjoint, within the step.
  static TimeAxis of(std::int64_t cycles, const std::vector<TimeFold>& folds, const TimeWindow& window, double left,
                     double right);
  double length() const { return pieces.empty() ? 1 : pieces.back().end; }
  double position_of(std::int64_t time) const;
  bool is_folded(std::int64_t time) const;
  std::int64_t time_of(double position) const;
  double x_of(std::int64_t time) const;
  std::int64_t time_at(double x) const;  // clamped to the step
  double position_at(double x) const;
  double per_pixel() const;  // cycles, outside of folds
  double x_at(double position) const;
  // Pieces that are seen, cut to the window.
  std::vector<Piece> seen() const;
};

// Multiples of 1, 2 or 5 times a power of ten in [from, to], at least `least` apart.
std::vector<double> ticks_between(double from, double to, double least);

}  // namespace superstep::gui
