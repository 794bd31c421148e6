// SPDX-License-Identifier: Apache-2.0
// The time that a plan loses to another one, by waterfall term.
#pragma once

#include <string>
#include <vector>

#include "planner/report/waterfall.h"

namespace superstep {

// A waterfall term in two plans, seconds per step; 0 for a term that one of them does not have.
struct LostTime {
  std::string name, kind;
  double first = 0, second = 0;
  double lost() const { return second - first; }
};
// Returns all terms by loss, the largest first. The losses sum to the difference of the step times exactly but for
// rounding. `scale` multiplies the second plan's times: it converts another global batch to the first plan's.
std::vector<LostTime> time_lost(const std::vector<WaterfallRow>& first, const std::vector<WaterfallRow>& second,
                                double scale);

}  // namespace superstep
