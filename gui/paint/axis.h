// SPDX-License-Identifier: Apache-2.0
// Scales and ticks of charts, without a window.
#pragma once

#include <vector>

namespace superstep::gui {

// Values from 0 to `full` on pixels from `begin` to `end`. Not finite or not positive `full`: all
// values stand at `begin`.
struct LinearScale {
  double full = 1;
  double begin = 0;
  double end = 1;

  double at(double value) const;
  double value_at(double pixel) const;
};

// Multiples of 1, 2 or 5 times a power of ten from 0 to at most `full`, with about `wanted` steps.
std::vector<double> nice_ticks(double full, int wanted);

}  // namespace superstep::gui
