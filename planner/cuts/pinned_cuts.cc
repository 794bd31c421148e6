// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/pinned_cuts.h"

#include <algorithm>
#include <numeric>

#include "model/lower/lower.h"
#include "planner/job/pinned_stages.h"
#include "planner/space/software_facts.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

// Returns the modes that both lists have; an empty second list has all.
std::vector<Recompute> common(std::vector<Recompute> modes, const std::vector<Recompute>& others) {
  std::erase_if(modes, [&](Recompute m) { return !others.empty() && std::ranges::find(others, m) == others.end(); });
  return modes;
}

}  // namespace

PinnedCuts::PinnedCuts(Tables& tables, bool defaults) : tables_(tables), defaults_(defaults), software_(tables.job()) {}

void PinnedCuts::pin_groups(Plan& plan) const {
  const auto& pin = tables_.job().pins.stage_ipu;
  if (pin && pin->size() == plan.stage_ipu.size()) plan.stage_ipu = *pin;
}

bool PinnedCuts::searches_phases(const Plan& plan) const {
  return plan.location.weights != Location::in_processor && !tables_.job().pins.one_phase();
}

void PinnedCuts::prepare(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = graphs_.try_emplace({plan.micro_batch, plan.tensor_parallel});
  if (!fresh) return;
  const GraphFacts& facts = tables_.facts(plan.micro_batch);
  it->second.pinned_stages = pinned_stages(tables_.job(), facts.graph);
  if (!software_.has_rules()) return;
  const UnitFacts units = unit_facts(facts);
  it->second.ties = units.ties;
  for (std::size_t u = 0; u < units.layers.size(); ++u) {
    if (u == 0 || units.layers[u] != units.layers[u - 1]) it->second.layers.push_back(static_cast<std::int64_t>(u));
  }
  it->second.phases.resize(it->second.layers.size());
  std::iota(it->second.phases.begin(), it->second.phases.end(), 0);
}

const PinnedCuts::OfGraph& PinnedCuts::graph_of(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return graphs_.at({plan.micro_batch, plan.tensor_parallel});  // references to map entries stay valid
}

// The key holds every field of a setting that decides_shapes() (space/software_space.cc) lets rules ask for.
const std::vector<CutShape>& PinnedCuts::shapes_of(const Plan& plan, bool phased, bool ties) const {
  const ShapeKey key{plan.pipeline_stages,
                     plan.micro_batch,
                     plan.gradient_accumulation,
                     plan.phase_groups,
                     plan.schedule,
                     phased,
                     ties};
  const std::lock_guard lock(mutex_);
  const auto known = shapes_.find(key);
  return known != shapes_.end() ? known->second
                                : shapes_.emplace(key, software_.shapes(plan, phased, ties)).first->second;
}

bool PinnedCuts::add_shape(const CutShape& shape, const OfGraph& graph, CutRules& rules) const {
  const Pins& pins = tables_.job().pins;
  rules.wrap = shape.wrap;
  rules.last_modes = shape.last_modes.empty() ? std::vector<Recompute>() : common(rules.modes, shape.last_modes);
  rules.modes = common(rules.modes, shape.modes);
  if (rules.modes.empty() || (!shape.last_modes.empty() && rules.last_modes.empty())) return false;
  if (shape.ties_together) rules.together = &graph.ties;
  if (!shape.phase_per_layer) return true;
  const auto count = std::ssize(graph.phases);
  if ((rules.stages && *rules.stages != graph.layers) || (rules.phases && *rules.phases != graph.phases) ||
      !allows(pins.phase_count, count))
    return false;
  rules.stages = &graph.layers;
  rules.phases = &graph.phases;
  return true;
}

std::vector<CutRules> PinnedCuts::rules_for(const Plan& plan) const {
  CutRules pinned;
  const Pins& pins = tables_.job().pins;
  if (pins.recompute.size() == 1) pinned.modes = pins.recompute;
  if (pins.has_stage_modes()) pinned.stage_modes = &pins.recompute;
  if (defaults_ && pins.recompute.empty()) pinned.modes = {Recompute::layer};
  if (!tables_.training()) pinned.modes = {Recompute::layer};
  const OfGraph& graph = graph_of(plan);
  if (!graph.pinned_stages.empty()) pinned.stages = &graph.pinned_stages;
  if (pins.phases) pinned.phases = &*pins.phases;
  if (pins.phase_count) pinned.phase_count = &*pins.phase_count;
  const bool phased = searches_phases(plan);
  std::vector<CutRules> all;
  for (const CutShape& shape : shapes_of(plan, phased, !graph.ties.empty())) {
    if (!phased) {
      const std::int64_t of_cut = plan.pipeline_stages + (shape.wrap ? 1 : 0), count = pins.stage_count();
      if (count > 0 && count != of_cut) continue;
      if (plan.gradient_accumulation < least_accumulation(plan.schedule, of_cut, tables_.training())) continue;
    }
    CutRules rules = pinned;
    if (add_shape(shape, graph, rules)) all.push_back(std::move(rules));
  }
  return all;
}

}  // namespace superstep
