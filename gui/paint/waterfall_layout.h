// SPDX-License-Identifier: Apache-2.0
// Where the rows and bars of a waterfall stand: label, bars, milliseconds and how unsure they are, per cent. Pixels.
#pragma once

#include <QRectF>
#include <vector>

#include "gui/paint/axis.h"

namespace superstep::gui {

struct WaterfallLayout {
  static constexpr double kAxisHeight = 24;
  static constexpr double kLeastRow = 17;
  static constexpr double kMostRow = 29;

  std::vector<double> seconds;  // terms; the row after the last is their sum
  double width = 0;
  double row_height = kMostRow;
  double label_width = 0;
  LinearScale scale;         // seconds on x
  double number_right = 0;   // right edge of the milliseconds
  double error_right = 0;    // of their errors; of none, number_right
  double percent_right = 0;  // of the per cent

  // `label`, `number` and `error` are the widest texts of their columns; 0: there is none. The bars leave room to
  // `reach` seconds.
  static WaterfallLayout of(std::vector<double> seconds, double width, double height, double label, double number,
                            double reach = 0, double error = 0);

  int rows() const { return static_cast<int>(seconds.size()) + 1; }
  bool has_errors() const { return error_right > number_right; }
  double total() const;
  double start_of(int row) const;  // seconds before the row's bar; the sum starts at 0
  QRectF row(int row) const;       // the whole width
  QRectF bar(int row) const;       // at least one pixel wide where the term is not 0
  int row_at(double y) const;      // -1: none
  double height() const { return kAxisHeight + rows() * row_height; }
};

}  // namespace superstep::gui
