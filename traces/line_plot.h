// SPDX-License-Identifier: Apache-2.0
// A small line plot with two logarithmic axes, for terminals and as SVG.
#pragma once

#include <string>
#include <vector>

#include "traces/text_table.h"

namespace superstep {

struct PlotPoint {
  double x = 0, y = 0;  // both greater than 0
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // in the order of ascending x; may be empty
  bool dashed = false;            // true: a dashed line without marks, for comparison
};

struct LinePlot {
  std::string title, x_label, y_label;  // labels include the unit
  std::vector<double> x_ticks;          // ascending, at least one; the x axis spans them
  std::vector<PlotSeries> series;
};

// Returns the ticks of an axis that encloses `low` and `high`: 1, 2 and 5 times powers of ten. If these are more than
// nine ticks, powers of ten alone.
std::vector<double> log_ticks(double low, double high);

// Returns a standalone SVG document of 720 x 460 on white. Without any point, a text says so in place of the plot.
std::string to_svg(const LinePlot& plot);

// Returns the plot as text, ending in a line break. Solid series have the marks 'o', 'x', '+', '*' in turn, dashed
// series have '.'. A legend is below the plot.
std::string to_text(const LinePlot& plot, const TextStyle& style);

}  // namespace superstep
