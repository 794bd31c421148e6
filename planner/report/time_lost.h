// SPDX-License-Identifier: Apache-2.0
// The time that one plan loses to another plan, by waterfall term.
#pragma once

#include <string>
#include <vector>

#include "planner/report/waterfall.h"

namespace superstep {

// A waterfall term in two plans, in seconds per step; 0 in a plan without the term.
struct LostTime {
  std::string name, kind;
  double first = 0, second = 0;
  double lost() const { return second - first; }
};
// Returns all terms, the largest loss first. The losses sum to the difference of the step times, up to rounding.
// `scale` multiplies the second plan's times; it converts another global batch to the first plan's.
std::vector<LostTime> time_lost(const std::vector<WaterfallRow>& first, const std::vector<WaterfallRow>& second,
                                double scale);

}  // namespace superstep
