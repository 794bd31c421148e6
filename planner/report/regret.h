// SPDX-License-Identifier: Apache-2.0
// What a plan loses where the model is wrong: in each world of uncertainty.h the best of some plans is another one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/evaluated.h"

namespace superstep {

struct Regret {
  std::size_t plans = 0;     // that were compared
  double mean = 0, p95 = 0;  // share of the best score of a world that the plan loses: over all worlds, 95th percentile
  // Labels of the plans that are best in some world, with the share of worlds; the most frequent first.
  std::vector<std::pair<std::string, double>> best_in;
};

// Returns the regret of plans[0] among all plans. Their worlds must be drawn.
Regret regret_of(const Goal& goal, std::span<const Evaluated* const> plans);

}  // namespace superstep
