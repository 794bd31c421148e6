// SPDX-License-Identifier: Apache-2.0
// Waterfalls side by side on one scale, then the differences of the targets around a zero line. Pixels.
#pragma once

#include <QRectF>
#include <vector>

#include "gui/paint/axis.h"

namespace superstep::gui {

// Values between two pixels, with a zero somewhere between.
struct SignedScale {
  double least = 0, most = 0;  // at most and at least 0
  double begin = 0, end = 1;
  double at(double value) const;
};

struct CompareLayout {
  static constexpr double kHead = 42;  // names, then the axis
  static constexpr double kLeastRow = 15;
  static constexpr double kMostRow = 24;

  struct Input {
    // Of every report: what a term takes and where it begins, 0 where it has none; the last row is the whole step.
    std::vector<std::vector<double>> seconds, starts;
    double width = 0, height = 0;
    double label = 0, number = 0, difference = 0;  // the widest texts of their columns
  };
  struct Waterfall {
    double left = 0;
    LinearScale scale;  // the same seconds in all
    double number_right = 0;
  };
  struct Differences {
    double left = 0;
    SignedScale scale;
    double number_right = 0;
  };

  Input input;
  double row_height = kMostRow;
  double label_width = 0;
  std::vector<Waterfall> waterfalls;     // one per report
  std::vector<Differences> differences;  // one per target: report 1 is at 0

  static CompareLayout of(Input input);

  int rows() const { return input.seconds.empty() ? 0 : static_cast<int>(input.seconds[0].size()); }
  double difference(int target, int row) const;      // seconds, of the report `target` less those of the first
  QRectF row(int row) const;                         // the whole width
  QRectF bar(int report, int row) const;             // at least a pixel wide where the term is not 0
  QRectF difference_bar(int target, int row) const;  // from the zero line
  int row_at(double y) const;                        // -1: none
  double height() const { return kHead + rows() * row_height; }
};

}  // namespace superstep::gui
