// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_bounds.h"

#include <algorithm>
#include <utility>

#include "model/parallel.h"

namespace superstep {

PhaseBounds::Known* PhaseBounds::find(std::size_t hash, const Question& question) {
  const auto [first, last] = known_.equal_range(hash);
  const auto it = std::find_if(first, last, [&](const auto& entry) { return entry.second.question == question; });
  return it == last ? nullptr : &it->second;
}

std::int64_t PhaseBounds::bound(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  if (rules.stages || rules.stage_modes || rules.phases) return bound_phases(setting, rules, limits);
  const auto counts = rules.phase_count ? std::optional(*rules.phase_count) : std::nullopt;
  Question question{setting, rules.modes, counts, limits.tile, limits.executable, limits.io_tile, limits.ddr};
  const std::size_t hash = setting.hash();
  // Reads kept results only where work is not limited. Otherwise the result would depend on what other threads have
  // stored by then.
  if (limits.most_work == 0) {
    const auto lock = lock_soon(mutex_);
    if (const Known* known = find(hash, question)) {
      if (known->cycles >= 0) return known->cycles < limits.best ? known->cycles : INT64_MAX;
      if (known->none_below >= limits.best) return INT64_MAX;
    }
  }
  bool exact = false;
  const std::int64_t found = bound_phases(setting, rules, limits, &exact);
  const auto lock = lock_soon(mutex_);
  Known* known = find(hash, question);
  if (known == nullptr) {
    if (known_.size() >= kMost) return found;
    known = &known_.emplace(hash, Known{std::move(question)})->second;
  }
  if (exact && found < limits.best)
    known->cycles = found;
  else
    known->none_below = std::max(known->none_below, std::min(found, limits.best));
  return found;
}

}  // namespace superstep
