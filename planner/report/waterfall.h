// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes, from the ideal time to the predicted time.
#pragma once

#include <string>
#include <vector>

#include "planner/report/evaluated.h"

namespace superstep {

struct WaterfallRow {
  std::string name, kind, explanation;
  double seconds = 0;
};
// Returns the terms that are not 0, beginning with the ideal. The seconds of all rows sum to the step time exactly.
std::vector<WaterfallRow> waterfall(const Evaluated& e, const CostModel& model);

}  // namespace superstep
