// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/axis.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

double LinearScale::at(double value) const {
  if (!std::isfinite(value) || !(full > 0) || !std::isfinite(full)) return begin;
  return begin + std::clamp(value / full, 0.0, 4.0) * (end - begin);
}

double LinearScale::value_at(double pixel) const { return end == begin ? 0 : (pixel - begin) / (end - begin) * full; }

std::vector<double> nice_ticks(double full, int wanted) {
  if (!(full > 0) || !std::isfinite(full) || wanted < 1) return {0};
  const double rough = full / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= full * 1.000001; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace superstep::gui
