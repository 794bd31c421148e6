// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/waterfall_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace superstep::gui {

WaterfallLayout WaterfallLayout::of(std::vector<double> seconds, double width, double height, double label,
                                    double number, double reach, double error) {
  constexpr double kMargin = 12;
  constexpr double kGap = 12;
  constexpr double kPercentWidth = 46;
  constexpr double kErrorGap = 8;
  WaterfallLayout out;
  out.seconds = std::move(seconds);
  out.width = width;
  out.row_height = std::clamp(std::floor((height - kAxisHeight) / out.rows()), kLeastRow, kMostRow);
  out.percent_right = width - kMargin;
  out.error_right = out.percent_right - kPercentWidth;
  out.number_right = out.error_right - (error > 0 ? error + kErrorGap : 0);
  const double least_bars = error > 0 ? 48 : 80;
  const double bars_right = out.number_right - number - kGap;
  out.label_width = std::max(60.0, std::min(label, bars_right - kMargin - kGap - least_bars));
  const double bars_left = kMargin + out.label_width + kGap;
  out.scale = {std::max(out.total(), reach), bars_left, std::max(bars_left + 20, bars_right)};
  return out;
}

double WaterfallLayout::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double WaterfallLayout::start_of(int row) const {
  if (row < 0 || row >= static_cast<int>(seconds.size())) return 0;
  return std::accumulate(seconds.begin(), seconds.begin() + row, 0.0);
}

QRectF WaterfallLayout::row(int row) const { return {0, kAxisHeight + row * row_height, width, row_height}; }

QRectF WaterfallLayout::bar(int row) const {
  const bool is_total = row == static_cast<int>(seconds.size());
  const double size = is_total ? total() : seconds[static_cast<std::size_t>(row)];
  const double from = scale.at(start_of(row));
  const double to = scale.at(start_of(row) + size);
  const double inset = std::floor(row_height / 6);
  return {from, kAxisHeight + row * row_height + inset, size > 0 ? std::max(1.0, to - from) : 0,
          row_height - 2 * inset};
}

int WaterfallLayout::row_at(double y) const {
  const int row = static_cast<int>(std::floor((y - kAxisHeight) / row_height));
  return row >= 0 && row < rows() ? row : -1;
}

}  // namespace superstep::gui
