// SPDX-License-Identifier: Apache-2.0
// A small line plot with two logarithmic axes, for terminals and as SVG.
#pragma once

#include <string>
#include <vector>

#include "traces/text_table.h"

namespace superstep {

struct PlotPoint {
  double x = 0, y = 0;  // above 0
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // by ascending x; may be empty
  bool dashed = false;            // a line without marks, to compare with
};

struct LinePlot {
  std::string title, x_label, y_label;  // labels name the unit
  std::vector<double> x_ticks;          // ascending, at least one; the x axis spans them
  std::vector<PlotSeries> series;
};

// What an axis of values from `low` to `high` shows: 1, 2 and 5 times powers of ten that enclose both; powers of ten
// alone where there would be more than nine.
std::vector<double> log_ticks(double low, double high);

// A standalone SVG document on white, 720 x 460. Says so in place of the plot where no series has a point.
std::string to_svg(const LinePlot& plot);

// Marks 'o', 'x', '+', '*' per series, '.' for dashed ones, a legend below. Ends in a line break.
std::string to_text(const LinePlot& plot, const TextStyle& style);

}  // namespace superstep
