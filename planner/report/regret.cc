// SPDX-License-Identifier: Apache-2.0
#include "planner/report/regret.h"

#include <algorithm>
#include <functional>

namespace superstep {

Regret regret_of(const Goal& goal, std::span<const Evaluated* const> plans) {
  const std::size_t worlds = plans[0]->worlds.size();
  std::vector<double> lost(worlds);
  std::vector<double> wins(plans.size());
  for (std::size_t w = 0; w < worlds; ++w) {
    const auto score = [&](const Evaluated* e) { return goal.score(e->plan.global_batch(), e->worlds[w]); };
    const auto best = std::ranges::max_element(plans, {}, score);
    lost[w] = 1 - score(plans[0]) / score(*best);
    wins[static_cast<std::size_t>(best - plans.begin())] += 1 / static_cast<double>(worlds);
  }
  Regret out{.plans = plans.size()};
  for (double share : lost) out.mean += share / static_cast<double>(worlds);
  std::ranges::sort(lost);
  out.p95 = lost[(worlds * 95 + 99) / 100 - 1];
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (wins[i] > 0) out.best_in.emplace_back(plans[i]->label, wins[i]);
  }
  std::ranges::stable_sort(out.best_in, std::ranges::greater(), &std::pair<std::string, double>::second);
  return out;
}

}  // namespace superstep
