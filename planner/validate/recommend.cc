// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/recommend.h"

#include "planner/validate/published.h"
#include "traces/compare.h"

namespace superstep {

bool is_worth_the_bet(const Job& asked, const Evaluated& unmeasured, const Evaluated& measured) {
  constexpr double kMost = 1.15;  // of the best published rate: beyond, only measured mechanisms may explain it
  if (probability_better(asked.goal, unmeasured, measured) < kSure) return false;
  const double published = best_published_rate(asked);
  return published == 0 || unmeasured.samples_per_second <= kMost * published;
}

}  // namespace superstep
