// SPDX-License-Identifier: Apache-2.0
#include "planner/search/proved_bests.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/lower/placement.h"
#include "planner/infeasible/why_not.h"

namespace superstep {
namespace {

// All but the pins and what is said for people.
nlohmann::json question_of(const Job& job) {
  nlohmann::json q = job.json;
  for (const char* key : {"$schema", "description", "pareto", "plan"}) q.erase(key);
  return q;
}

// The pins on which a cell's settings depend.
nlohmann::json setting_pins_of(const Job& job) {
  nlohmann::json pins = job.json.value("plan", nlohmann::json::object());
  for (const char* key : {"tensor_parallel", "placement", "pipeline_stages", "replicas", "micro_batch",
                          "gradient_accumulation", "stages", "layers_per_stage", "stage_ipu", "recompute"})
    pins.erase(key);
  return pins;
}

template <class Pin>
bool is_free_or(const Pin& wide, const Pin& narrow) {
  return wide == Pin{} || wide == narrow;
}

// Whether all values of one are among the other's.
bool is_part(const std::optional<IntegerPin>& some, const std::optional<IntegerPin>& all) {
  if (!all || some == all) return true;
  if (!some) return false;
  if (!some->values.empty()) return std::ranges::all_of(some->values, [&](std::int64_t v) { return all->allows(v); });
  return all->values.empty() && some->low >= all->low && some->high <= all->high;
}

bool cuts_within(const Pins& narrow, const Pins& wide) {
  return is_free_or(wide.stages, narrow.stages) && is_free_or(wide.layers_per_stage, narrow.layers_per_stage) &&
         is_free_or(wide.stage_ipu, narrow.stage_ipu) && is_free_or(wide.phases, narrow.phases) &&
         is_part(narrow.phase_count, wide.phase_count) && is_free_or(wide.recompute, narrow.recompute);
}

template <class T>
bool is_part(const std::vector<T>& some, const std::vector<T>& all) {
  return std::ranges::all_of(some, [&](const T& v) { return std::ranges::find(all, v) != all.end(); });
}

bool is_within(const SettingSpace& narrow, const SettingSpace& wide) {
  const auto throughout = [](const SettingSpace& s) {
    return s.common.activation_sharding == ActivationSharding::throughout;
  };
  Plan common = narrow.common;
  if (throughout(narrow) == throughout(wide)) common.activation_sharding = wide.common.activation_sharding;
  if (wide.caps.contains(narrow.caps)) common.available_memory_proportion = wide.common.available_memory_proportion;
  if (narrow.phased) common.schedule = wide.common.schedule;  // of no effect, as loads are in pipelines
  return common == wide.common && narrow.phased == wide.phased && (narrow.groups_matter || !wide.groups_matter) &&
         (!narrow.phased || is_part(narrow.loads, wide.loads)) && is_part(narrow.stashes, wide.stashes) &&
         is_part(narrow.weights, wide.weights) && is_part(narrow.gradients, wide.gradients) &&
         is_part(narrow.states, wide.states) && is_part(narrow.prefetch_depths, wide.prefetch_depths) &&
         is_part(narrow.codes, wide.codes);
}

bool settings_within(const Job& narrow, const Job& wide, const Cell& cell) {
  const std::vector<SettingSpace> all = setting_spaces(wide, cell, false);
  auto next = all.begin();  // both are in canonical order
  return std::ranges::all_of(setting_spaces(narrow, cell, false), [&](const SettingSpace& space) {
    next = std::find_if(next, all.end(), [&](const SettingSpace& other) { return is_within(space, other); });
    return next != all.end();
  });
}

}  // namespace

JobPlans::JobPlans(Job job, const std::vector<Cell>& cells)
    : job_(std::move(job)), question_(question_of(job_)), setting_pins_(setting_pins_of(job_)) {
  // Of a placement settings depend on who lends memory, and of a mesh on its size alone.
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, ShardGroups, bool>> seen;
  for (const Cell& c : cells) {
    batches_[{c.mesh, c.stages, c.replicas, c.placement, c.groups, c.groups_matter}].insert(
        {c.micro_batch, c.accumulation});
    const auto lends = [&](Location at) { return has_lender(c.plan(), at, job_.machine); };
    if (seen.insert({c.mesh.size(), c.stages, c.replicas, lends(Location::remote_machine), lends(Location::remote_ipu),
                     c.groups, c.groups_matter})
            .second)
      kinds_.push_back(c);
  }
}

bool JobPlans::is_within(const JobPlans& wide) const {
  if (question_ != wide.question_ || job_.machine.ipus != wide.job_.machine.ipus ||
      !cuts_within(job_.pins, wide.job_.pins))
    return false;
  const bool has_cells = std::ranges::all_of(batches_, [&](const auto& own) {
    const auto there = wide.batches_.find(own.first);
    return there != wide.batches_.end() && std::ranges::includes(there->second, own.second);
  });
  if (!has_cells || setting_pins_ == wide.setting_pins_) return has_cells;
  return std::ranges::all_of(kinds_, [&](const Cell& c) { return settings_within(job_, wide.job_, c); });
}

namespace {

LoadSchedule first(const std::vector<LoadSchedule>& pinned) {
  return pinned.empty() ? LoadSchedule::on_demand : pinned[0];
}

bool is_of_cuts(const std::string& pin) {
  static const std::set<std::string> all = {"/recompute", "/stages", "/layers_per_stage", "/stage_ipu", "/phases"};
  return all.contains(pin);
}

// A proof's best plan, as the job has it.
Candidate as_pinned(Candidate best, const Pins& pins) {
  Plan& plan = best.plan;
  if (plan.phased() && !pins.schedule.empty()) plan.schedule = pins.schedule[0];
  if (!plan.phased()) plan.load = {first(pins.load_weights), first(pins.load_code)};
  // Code that stays is taken to come as the weights do, where that is allowed (SettingSpace::go_together).
  const std::vector<LoadSchedule>& code = pins.load_code;
  if (plan.phased() && plan.location.code == Location::in_processor)
    plan.load.code =
        code.empty() || std::ranges::find(code, plan.load.weights) != code.end() ? plan.load.weights : code[0];
  return best;
}

}  // namespace

ProvedBests::Answer ProvedBests::find(const JobPlans& plans) {
  const Job& job = plans.job();
  const nlohmann::json pins = job.json.value("plan", nlohmann::json::object());
  const std::lock_guard lock(mutex_);
  Answer out;
  auto served = proved_.end();
  for (auto p = proved_.begin(); p != proved_.end() && !out.best; ++p) {
    if (p->ceiling > out.ceiling || !plans.is_within(p->plans)) continue;
    out.ceiling = p->ceiling;
    served = p;
    if (!p->best) continue;
    Candidate best = as_pinned(*p->best, job.pins);
    const std::vector<std::string> missing = pins_not_had(p->best->plan, pins);
    if (std::ranges::all_of(missing, is_of_cuts)) out.near = best.plan;
    if (missing.empty()) out.best = std::move(best);
  }
  if (served != proved_.end()) std::rotate(served, served + 1, proved_.end());
  return out;
}

void ProvedBests::add(JobPlans plans, double ceiling, std::optional<Candidate> best) {
  const std::lock_guard lock(mutex_);
  if (proved_.size() == kMost) proved_.erase(proved_.begin());
  proved_.push_back({std::move(plans), ceiling, std::move(best)});
}

}  // namespace superstep
