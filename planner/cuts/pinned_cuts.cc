// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/pinned_cuts.h"

#include "model/lower/lower.h"
#include "planner/space/space.h"

namespace superstep {

bool PinnedCuts::searches_phases(const Plan& plan) const {
  return plan.location.weights != Location::in_processor && !tables_.job().pins.one_phase();
}

void PinnedCuts::prepare(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = stages_.try_emplace({plan.micro_batch, plan.tensor_parallel});
  if (fresh) it->second = pinned_stages(tables_.job(), tables_.facts(plan.micro_batch).graph);
}

const std::vector<std::int64_t>& PinnedCuts::stages_of(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return stages_.at({plan.micro_batch, plan.tensor_parallel});  // references to map entries stay valid
}

std::vector<CutRules> PinnedCuts::rules_for(const Plan& plan) const {
  CutRules rules;
  const Pins& pins = tables_.job().pins;
  if (pins.recompute.size() == 1) rules.modes = pins.recompute;
  if (pins.has_stage_modes()) rules.stage_modes = &pins.recompute;
  if (defaults_ && pins.recompute.empty()) rules.modes = {Recompute::layer};
  if (!tables_.training()) rules.modes = {Recompute::layer};
  const std::vector<std::int64_t>& stages = stages_of(plan);
  if (!stages.empty()) rules.stages = &stages;
  if (pins.phases) rules.phases = &*pins.phases;
  if (pins.phase_count) rules.phase_count = &*pins.phase_count;
  if (searches_phases(plan)) return {rules};
  std::vector<CutRules> all;
  for (const bool wrap : {false, true}) {
    const std::int64_t of_cut = plan.pipeline_stages + (wrap ? 1 : 0), pinned = pins.stage_count();
    if ((wrap && plan.pipeline_stages == 1) || (pinned > 0 && pinned != of_cut)) continue;
    if (plan.gradient_accumulation < least_accumulation(plan.schedule, of_cut, tables_.training())) continue;
    rules.wrap = wrap;
    all.push_back(rules);
  }
  return all;
}

}  // namespace superstep
