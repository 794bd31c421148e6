// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/scatter_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace superstep::gui {
namespace {

RangeScale scale_of(const std::vector<double>& values, double also, double begin, double end) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  if (!(least <= most)) least = 0, most = 1;
  const double range = most - least;
  // A limit is worth the room only where the values are not lost beside it.
  if (std::isfinite(also) && also > 0 && (values.size() < 2 || std::abs(also - most) < 2 * std::max(range, most / 4))) {
    least = std::min(least, also);
    most = std::max(most, also);
  }
  double room = 0.08 * (most - least);
  if (!(room > 0)) room = std::max(1.0, std::abs(most) * 0.1);  // one value only
  const bool positive = least >= 0;
  return {positive ? std::max(0.0, least - room) : least - room, most + room, begin, end};
}

}  // namespace

double RangeScale::at(double value) const {
  return most > least ? begin + (value - least) / (most - least) * (end - begin) : begin;
}

std::vector<double> range_ticks(double least, double most, int wanted) {
  if (!(most > least) || !std::isfinite(most - least) || wanted < 1) return {};
  const double rough = (most - least) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * 0.999) step = factor * power;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(least / step - 1e-9); i * step <= most + 1e-9 * step; ++i) ticks.push_back(i * step);
  return ticks;
}

ScatterLayout ScatterLayout::of(QRectF plot, const std::vector<double>& xs, const std::vector<double>& ys,
                                double also_x, double also_y) {
  ScatterLayout out;
  out.plot = plot;
  out.x = scale_of(xs, also_x, plot.left(), plot.right());
  out.y = scale_of(ys, also_y, plot.bottom(), plot.top());
  for (std::size_t i = 0; i < xs.size(); ++i) out.dots.emplace_back(out.x.at(xs[i]), out.y.at(ys[i]));
  return out;
}

int ScatterLayout::nearest(QPointF point, double within) const {
  int best = -1;
  double least = within;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const double distance = std::hypot(dots[i].x() - point.x(), dots[i].y() - point.y());
    if (distance <= least) {
      least = distance;
      best = static_cast<int>(i);
    }
  }
  return best;
}

QRectF ScatterLayout::box_beside(int dot, QSizeF size, const std::vector<QRectF>& taken) const {
  const QPointF at = dots[static_cast<std::size_t>(dot)];
  // Where dots are a cloud, no place is clear; then the one that covers the fewest.
  QRectF best;
  double least = std::numeric_limits<double>::infinity();
  for (const double away : {18.0, 44.0, 80.0}) {
    for (const double dx : {-1.0, 1.0, 0.0}) {
      for (const double dy : {-1.0, 1.0}) {
        const double left = dx < 0 ? at.x() - away - size.width() : dx > 0 ? at.x() + away : at.x() - size.width() / 2;
        const double top = dy < 0 ? at.y() - away - size.height() : at.y() + away;
        QRectF box(QPointF(left, top), size);
        box.moveLeft(
            std::clamp(box.left(), plot.left() + 2, std::max(plot.left() + 2, plot.right() - size.width() - 2)));
        box.moveTop(std::clamp(box.top(), plot.top() + 2, std::max(plot.top() + 2, plot.bottom() - size.height() - 2)));
        double cost = away / 100;
        for (const QPointF& other : dots) cost += box.adjusted(-7, -7, 7, 7).contains(other) ? 1 : 0;
        for (const QRectF& other : taken) cost += box.intersects(other) ? 10 : 0;
        if (cost < least) {
          least = cost;
          best = box;
        }
      }
    }
  }
  return best;
}

}  // namespace superstep::gui
