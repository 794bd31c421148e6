// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/compare_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

constexpr double kMargin = 12;
constexpr double kSideGap = 14;
constexpr double kDifferenceShare = 0.8;  // of the width of a waterfall

// The furthest that the bars of any report reach.
double furthest(const CompareLayout::Input& in) {
  double most = 0;
  for (std::size_t r = 0; r < in.seconds.size(); ++r) {
    for (std::size_t i = 0; i < in.seconds[r].size(); ++i) {
      most = std::max({most, in.starts[r][i], in.starts[r][i] + in.seconds[r][i]});
    }
  }
  return most;
}

QRectF between(double a, double b, bool shown, double top, double height) {
  const double left = std::min(a, b);
  return {left, top, shown ? std::max(1.0, std::abs(b - a)) : 0, height};
}

}  // namespace

double SignedScale::at(double value) const {
  const double range = most - least;
  return range > 0 ? begin + (value - least) / range * (end - begin) : begin;
}

CompareLayout CompareLayout::of(Input in) {
  CompareLayout out;
  out.input = std::move(in);
  const auto reports = static_cast<double>(out.input.seconds.size());
  if (reports == 0) return out;
  const double width = out.input.width;
  out.row_height = std::clamp(std::floor((out.input.height - kHead) / out.rows()), kLeastRow, kMostRow);
  // Bars get what labels and numbers leave.
  const double numbers = reports * (out.input.number + 8) + (reports - 1) * (out.input.difference + 8);
  const double gaps = 2 * kMargin + (2 * reports - 1) * kSideGap;
  const double parts = reports + (reports - 1) * kDifferenceShare;
  out.label_width = std::clamp(out.input.label, 60.0, std::max(60.0, width - numbers - gaps - parts * 60));
  const double unit = std::max(20.0, (width - out.label_width - numbers - gaps) / parts);
  const double most = furthest(out.input);
  double x = kMargin + out.label_width + kSideGap;
  for (std::size_t r = 0; r < out.input.seconds.size(); ++r) {
    const double number_right = x + unit + 8 + out.input.number;
    out.waterfalls.push_back({x, {most, x, x + unit}, number_right});
    x = number_right + kSideGap;
  }
  for (std::size_t t = 1; t < out.input.seconds.size(); ++t) {
    SignedScale scale;
    for (int row = 0; row < out.rows(); ++row) {
      scale.least = std::min(scale.least, out.difference(static_cast<int>(t), row));
      scale.most = std::max(scale.most, out.difference(static_cast<int>(t), row));
    }
    // Each side has some room, so that the line is seen as one.
    const double room = 0.12 * std::max(scale.most - scale.least, 1e-12);
    scale.least = std::min(scale.least, -room);
    scale.most = std::max(scale.most, room);
    const double bars = unit * kDifferenceShare;
    scale.begin = x;
    scale.end = x + bars;
    out.differences.push_back({x, scale, x + bars + 8 + out.input.difference});
    x = out.differences.back().number_right + kSideGap;
  }
  return out;
}

double CompareLayout::difference(int target, int row) const {
  const auto r = static_cast<std::size_t>(row);
  return input.seconds[static_cast<std::size_t>(target)][r] - input.seconds[0][r];
}

QRectF CompareLayout::row(int row) const { return {0, kHead + row * row_height, input.width, row_height}; }

QRectF CompareLayout::bar(int report, int row) const {
  const auto r = static_cast<std::size_t>(report);
  const double from = input.starts[r][static_cast<std::size_t>(row)];
  const double size = input.seconds[r][static_cast<std::size_t>(row)];
  const LinearScale& scale = waterfalls[r].scale;
  const double inset = std::floor(row_height / 6);
  return between(scale.at(from), scale.at(from + size), size != 0, this->row(row).top() + inset,
                 row_height - 2 * inset);
}

QRectF CompareLayout::difference_bar(int target, int row) const {
  const double size = difference(target, row);
  const SignedScale& scale = differences[static_cast<std::size_t>(target - 1)].scale;
  const double inset = std::floor(row_height / 6);
  return between(scale.at(0), scale.at(size), size != 0, this->row(row).top() + inset, row_height - 2 * inset);
}

int CompareLayout::row_at(double y) const {
  const int row = static_cast<int>(std::floor((y - kHead) / row_height));
  return row >= 0 && row < rows() ? row : -1;
}

}  // namespace superstep::gui
