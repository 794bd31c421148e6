// SPDX-License-Identifier: Apache-2.0
#include "planner/pinned_cuts.h"

#include "model/error.h"
#include "model/lower/lower.h"
#include "planner/space.h"

namespace superstep {

bool PinnedCuts::searches_phases(const Plan& plan) const {
  return plan.location.weights != Location::in_processor && !tables_.job().pins.one_phase();
}

void PinnedCuts::prepare(const Plan& plan, bool phased) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = stages_.try_emplace({plan.micro_batch, plan.tensor_parallel});
  if (fresh) it->second = pinned_stages(tables_.job(), tables_.facts(plan.micro_batch).graph);
  const auto count = static_cast<std::int64_t>(it->second.size());
  if (count == 0 || phased || count == plan.pipeline_stages || count == plan.pipeline_stages + 1) return;
  throw Error(tables_.job().source + "#/plan/stages",
              "found " + std::to_string(count) + " stages, expected pipeline_stages (" +
                  std::to_string(plan.pipeline_stages) + ") or one more, whose last returns to IPU 0");
}

const std::vector<std::int64_t>& PinnedCuts::stages_of(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return stages_.at({plan.micro_batch, plan.tensor_parallel});  // map nodes stay put
}

std::vector<CutRules> PinnedCuts::rules_for(const Plan& plan) const {
  CutRules rules;
  const Pins& pins = tables_.job().pins;
  if (!pins.recompute.empty() && pins.recompute[0].size() == 1) rules.modes = {pins.recompute[0][0]};
  if (!pins.recompute.empty() && pins.recompute[0].size() > 1) rules.stage_modes = &pins.recompute[0];
  if (defaults_ && pins.recompute.empty()) rules.modes = {Recompute::layer};
  if (!tables_.training()) rules.modes = {Recompute::layer};
  const std::vector<std::int64_t>& stages = stages_of(plan);
  if (!stages.empty()) rules.stages = &stages;
  if (pins.phases) rules.phases = &*pins.phases;
  if (pins.phase_count) rules.phase_count = *pins.phase_count;
  if (searches_phases(plan)) return {rules};
  const auto count = static_cast<std::int64_t>(stages.size());
  std::vector<CutRules> all;
  if (stages.empty() || count == plan.pipeline_stages) all.push_back(rules);
  if (plan.pipeline_stages > 1 && (stages.empty() || count == plan.pipeline_stages + 1)) {
    rules.wrap = true;
    all.push_back(rules);
  }
  std::erase_if(all, [&](const CutRules& r) {
    const std::int64_t of_cut = plan.pipeline_stages + (r.wrap ? 1 : 0);
    return plan.gradient_accumulation < least_accumulation(plan.schedule, of_cut, tables_.training());
  });
  return all;
}

}  // namespace superstep
