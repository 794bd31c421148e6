// SPDX-License-Identifier: Apache-2.0
#include "planner/infeasible/legal_plan.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "planner/cuts/pinned_cuts.h"
#include "planner/job/check_pins.h"
#include "planner/job/pinned_stages.h"
#include "planner/job/plan_fields.h"

namespace superstep {
namespace {

using nlohmann::json;

// Cuts a plan without a search: pinned cuts, else a unit for each stage.
void cut_arbitrarily(const Job& job, const GraphFacts& facts, std::int64_t stages, bool phased, Plan& plan) {
  const auto units = static_cast<std::int64_t>(facts.graph.units.size());
  const Pins& pins = job.pins;
  plan.stages = pinned_stages(job, facts.graph);
  const std::int64_t usual = phased ? 2 : 1, asked = phased && pins.phase_count ? pins.phase_count->least() : usual;
  const std::int64_t count = phased ? std::min(units, std::max(stages, asked)) : stages;
  for (std::int64_t i = plan.stages.empty() ? 0 : count; i < count; ++i) plan.stages.push_back(i);
  const std::int64_t phases = std::min(asked, std::ssize(plan.stages));
  plan.stage_ipu.clear(), plan.phases.clear();
  for (std::int64_t i = 0; i < std::ssize(plan.stages); ++i) plan.stage_ipu.push_back(i % plan.pipeline_stages);
  if (pins.stage_ipu && std::ssize(*pins.stage_ipu) == std::ssize(plan.stages)) plan.stage_ipu = *pins.stage_ipu;
  for (std::int64_t i = 0; i < phases; ++i) plan.phases.push_back(i);
  if (pins.phases) plan.phases = *pins.phases;
  plan.recompute = {Recompute::layer};
  plan.stage_proportions.clear();
}

// Returns a plan of the cell with all pins that have one value, and arbitrary cuts.
Plan pinned_plan(const Job& job, const GraphFacts& facts, const Cell& cell) {
  Plan plan = cell.plan();
  const json given = job.json().value("plan", json::object());
  for (const PlanField& field : plan_fields()) {
    const auto pin = given.find(std::string(field.name));
    if (pin == given.end() || field.search == PlanField::Search::cut || field.search == PlanField::Search::bound)
      continue;
    for (const PlanValue& v : field.values) {
      const bool by_member = pin->is_object() && field.has_members();
      if (v.set == nullptr || (by_member && !pin->contains(std::string(v.member)))) continue;
      if (const json& value = by_member ? pin->at(std::string(v.member)) : *pin; value.is_primitive())
        v.set(job.pins, job.source, plan);
    }
  }
  const bool outside = plan.location.weights != Location::in_processor && !job.pins.one_phase();
  const bool phased = outside || !job.pins.may_be_one_phase();
  if (phased && job.pins.optimizer_state.empty()) plan.location.optimizer_state = Location::streaming;
  if (phased && job.pins.activations.empty()) plan.location.activations = Location::streaming;
  if (phased && job.pins.weights.empty()) plan.location.weights = Location::streaming;
  const std::int64_t pinned = job.pins.stage_count();
  cut_arbitrarily(job, facts, pinned > 0 ? pinned : cell.stages, phased, plan);
  return plan;
}

}  // namespace

std::vector<Plan> leanest(const SettingSpace& space, const Chip& chip) {
  using Values = std::array<std::size_t, SettingSpace::kAxes>;
  Values first{}, lean{};
  while (!space.legal(first) && first[SettingSpace::state_axis] + 1 < space.states.size())
    ++first[SettingSpace::state_axis];
  // Returns the last value that is not remote. Streaming Memory can hold what remote memory would hold.
  const auto last_there = [](const auto& list) {
    std::size_t best = 0;
    for (std::size_t v = 1; v < list.size(); ++v) {
      if (list[v].at <= Location::streaming) best = v;
    }
    return best;
  };
  lean[SettingSpace::stash_axis] = last_there(space.stashes);
  lean[SettingSpace::weight_axis] = last_there(space.weights);
  lean[SettingSpace::gradient_axis] = last_there(space.gradients);
  lean[SettingSpace::state_axis] = last_there(space.states);
  std::vector<Plan> out;
  for (const Values& values : {lean, first}) {
    if (!space.legal(values) || (!out.empty() && values == lean)) continue;
    out.push_back(space.plan(values));
    if (space.caps.size() > 1) out.back().available_memory_proportion = proportion_of(space.caps.tightest(), chip);
  }
  return out;
}

std::optional<Plan> legal_plan(Tables& tables, const std::vector<Cell>& cells, bool defaults) {
  const Job& job = tables.job();
  PinnedCuts cuts(tables, defaults);
  bool checked = false;
  for (const Cell& cell : cells) {
    const GraphFacts& facts = tables.facts(cell.micro_batch);
    if (!checked) check_pins(job, static_cast<std::int64_t>(facts.graph.units.size()));
    checked = true;
    for (const SettingSpace& space : setting_spaces(job, cell, defaults)) {
      for (Plan& plan : leanest(space, job.machine.chip)) {
        cuts.prepare(plan);
        for (const CutRules& rules : cuts.rules_for(plan)) {
          cut_arbitrarily(job, facts, cell.stages + (rules.wrap ? 1 : 0), cuts.searches_phases(plan), plan);
          if (check_plan(plan, facts, job.machine, tables.training()).empty()) return plan;
        }
      }
    }
  }
  return std::nullopt;
}

std::string why_not_legal(Tables& tables, const Cell& cell) {
  const Job& job = tables.job();
  const GraphFacts& facts = tables.facts(cell.micro_batch);
  const auto units = static_cast<std::int64_t>(facts.graph.units.size());
  if (cell.stages > units && job.pins.stage_count() == 0)
    return "pipeline_stages " + std::to_string(cell.stages) + " is more than the " + std::to_string(units) +
           " units between cut points";
  return check_plan(pinned_plan(job, facts, cell), facts, job.machine, tables.training());
}

}  // namespace superstep
