// SPDX-License-Identifier: Apache-2.0
#include "planner/proved_bests.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "planner/why_not.h"

namespace superstep {
namespace {

// All but the pins and what is said for people.
nlohmann::json question(const Job& job) {
  nlohmann::json q = job.json;
  for (const char* key : {"$schema", "description", "pareto", "plan"}) q.erase(key);
  return q;
}

template <class Pin>
bool is_free_or(const Pin& wide, const Pin& narrow) {
  return wide == Pin{} || wide == narrow;
}

bool cuts_within(const Pins& narrow, const Pins& wide) {
  return is_free_or(wide.stages, narrow.stages) && is_free_or(wide.layers_per_stage, narrow.layers_per_stage) &&
         is_free_or(wide.stage_ipu, narrow.stage_ipu) && is_free_or(wide.phases, narrow.phases) &&
         is_free_or(wide.phase_count, narrow.phase_count) && is_free_or(wide.recompute, narrow.recompute);
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

// What decides a cell's settings, and the rest of it.
using Degrees = std::tuple<TensorParallel, std::int64_t, std::int64_t, Placement, ShardGroups, bool>;
using Batches = std::set<std::pair<std::int64_t, std::int64_t>>;
std::map<Degrees, Batches> by_degrees(const std::vector<Cell>& cells) {
  std::map<Degrees, Batches> out;
  for (const Cell& c : cells) {
    out[{c.mesh, c.stages, c.replicas, c.placement, c.groups, c.groups_matter}].insert({c.micro_batch, c.accumulation});
  }
  return out;
}

bool settings_within(const Job& narrow, const Job& wide, const Degrees& degrees) {
  Cell cell;
  std::tie(cell.mesh, cell.stages, cell.replicas, cell.placement, cell.groups, cell.groups_matter) = degrees;
  const std::vector<SettingSpace> all = setting_spaces(wide, cell, false);
  auto next = all.begin();  // both are in canonical order
  return std::ranges::all_of(setting_spaces(narrow, cell, false), [&](const SettingSpace& space) {
    next = std::find_if(next, all.end(), [&](const SettingSpace& other) { return is_within(space, other); });
    return next != all.end();
  });
}

}  // namespace

bool is_within(const Job& narrow, const std::vector<Cell>& narrow_cells, const Job& wide,
               const std::vector<Cell>& wide_cells) {
  if (question(narrow) != question(wide) || narrow.machine.ipus != wide.machine.ipus ||
      !cuts_within(narrow.pins, wide.pins))
    return false;
  const std::map<Degrees, Batches> all = by_degrees(wide_cells);
  for (const auto& [degrees, batches] : by_degrees(narrow_cells)) {
    const auto there = all.find(degrees);
    if (there == all.end() || !std::ranges::includes(there->second, batches) || !settings_within(narrow, wide, degrees))
      return false;
  }
  return true;
}

namespace {

LoadSchedule first(const std::vector<LoadSchedule>& pinned) {
  return pinned.empty() ? LoadSchedule::on_demand : pinned[0];
}

}  // namespace

std::optional<Candidate> ProvedBests::find(const Job& job, const std::vector<Cell>& cells) {
  const nlohmann::json pins = job.json.value("plan", nlohmann::json::object());
  const std::lock_guard lock(mutex_);
  for (const Proved& p : proved_) {
    if (!pins_not_had(p.best.plan, pins).empty() || !is_within(job, cells, p.job, p.cells)) continue;
    Candidate best = p.best;
    if (best.plan.phased() && !job.pins.schedule.empty()) best.plan.schedule = job.pins.schedule[0];
    if (!best.plan.phased()) best.plan.load = {first(job.pins.load_weights), first(job.pins.load_code)};
    // Code that stays is taken to come as the weights do, where that is allowed (SettingSpace::go_together).
    const std::vector<LoadSchedule>& code = job.pins.load_code;
    if (best.plan.phased() && best.plan.location.code == Location::in_processor)
      best.plan.load.code = code.empty() || std::ranges::find(code, best.plan.load.weights) != code.end()
                                ? best.plan.load.weights
                                : code[0];
    return best;
  }
  return std::nullopt;
}

void ProvedBests::add(const Job& job, std::vector<Cell> cells, const Candidate& best) {
  const std::lock_guard lock(mutex_);
  if (proved_.size() == kMost) proved_.erase(proved_.begin());
  proved_.push_back({job, std::move(cells), best});
}

}  // namespace superstep
