// SPDX-License-Identifier: Apache-2.0
#include "planner/infeasible/explain_infeasible.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/parallel.h"
#include "planner/cuts/pinned_cuts.h"
#include "planner/cuts/pipeline_stages.h"
#include "planner/infeasible/legal_changes.h"
#include "planner/infeasible/legal_plan.h"
#include "planner/infeasible/nearest_fix.h"

namespace superstep {
namespace {

// Factors by which memory limits are multiplied, ascending.
constexpr std::array kFactors = {1.0, 1.02, 1.05, 1.1,  1.15, 1.25, 1.4, 1.7, 2.2,
                                 3.0, 4.5,  7.0,  12.0, 30.0, 1e2,  1e3, 1e4, 1e6};

struct Problem {
  Tables& tables;
  const Job& job;
  const SearchOptions& options;
  const std::vector<Cell>& cells;
  PinnedCuts& cuts;
};

// The plan that needs the smallest factor on memory limits, and among such plans the fastest.
struct Closest {
  std::optional<Plan> plan;
  double factor = 1e300;  // on the memory limits; 1e300: no plan yet
  double rate = 0;        // samples per cycle
  std::int64_t evaluations = 0, work = 0;
  bool tried = false;   // at least one setting was tried
  std::string illegal;  // why a cut that fits is no legal plan
  bool enough() const {
    if (!plan) return !illegal.empty() && evaluations >= kBudget.explained_illegal;
    return evaluations >= kBudget.explained_programmes || work >= kBudget.explained_work;
  }
};

// Returns a factor on the tile limit below which no cut fits. A unit's weights and live tensors stand on a tile
// wherever the unit is. The fullest stage of a pipeline holds at least the average of all stages.
double least_tile_factor(const Setting& s) {
  std::int64_t least = 0;
  for (std::int64_t u = 0; u < s.units(); ++u) {
    const UnitRow& row = s.table().row(static_cast<std::size_t>(u));
    least = std::max(least, (row.weight_tile + std::max(row.forward.standing, row.backward.standing)).value);
  }
  if (!s.phased()) {
    const Setting::Stage all = s.stage_without_stash(0, s.units(), true, Recompute::layer);
    least = std::max(least, all.always / s.plan().pipeline_stages);
  }
  return static_cast<double>(least) / static_cast<double>(std::max<std::int64_t>(1, s.limit()));
}

void check_stop(const Problem& p) {
  if (p.options.stop && p.options.stop()) throw Stopped();
}

// Cuts the setting of `stages` with memory limits times `factor`. Relaxes one limit alone before all limits together,
// so that the overflow names the limit in the way. Returns false if larger limits may help. Skips tile factors below
// `least_tile`. `stages` keeps its results from one factor to the next.
bool relax(const Problem& p, PipelineStages& stages, double factor, double least_tile, Closest& closest) {
  const Setting& setting = stages.setting();
  const Plan& plan = setting.plan();
  using Ways = std::vector<std::pair<double, double>>;
  const Ways ways = factor == 1 ? Ways{{1, 1}} : Ways{{1, factor}, {factor, 1}, {factor, factor}};
  const auto times = [](double by, std::int64_t limit) {
    return static_cast<std::int64_t>(by * static_cast<double>(std::max<std::int64_t>(1, limit)));
  };
  for (const auto& [tile, ddr] : ways) {
    if (tile < least_tile) continue;
    CutLimits limits;
    limits.tile = times(tile, setting.limit());
    limits.executable = times(tile, setting.executable_limit());
    limits.io_tile = limits.tile;
    limits.ddr = times(ddr, setting.ddr_limit());
    if (factor == closest.factor)
      limits.best = static_cast<std::int64_t>(static_cast<double>(plan.global_batch()) / closest.rate);
    ++closest.evaluations;
    closest.work += setting.units() * setting.units() * plan.pipeline_stages;
    if (least_cycles(setting, limits) >= limits.best) continue;
    std::optional<Cuts> cuts = p.cuts.searches_phases(plan) ? cut_phases(setting, stages.rules(), limits, nullptr)
                                                            : cut_pipeline(stages, limits);
    if (!cuts) continue;
    Plan found = with_cuts(plan, *cuts);
    p.cuts.pin_groups(found);
    closest.illegal = check_plan(found, p.tables.facts(found.micro_batch), p.job.machine, p.tables.training());
    if (!closest.illegal.empty()) return true;  // larger limits would not make the plan legal
    const double rate = static_cast<double>(plan.global_batch()) / static_cast<double>(cuts->cycles);
    if (factor < closest.factor || rate > closest.rate) {
      closest.factor = factor;
      closest.rate = rate;
      closest.plan = std::move(found);
    }
    return true;
  }
  return false;
}

void closest_of(const Problem& p, const Plan& plan, Closest& closest) {
  const Setting setting(p.tables.table(table_key(plan)), plan, p.job.optimizer, p.cuts.searches_phases(plan));
  const double least_tile = least_tile_factor(setting);
  closest.tried = true;
  for (const CutRules& rules : p.cuts.rules_for(plan)) {
    PipelineStages stages(setting, rules);
    const auto fits = [&](double factor) { return relax(p, stages, factor, least_tile, closest); };
    // A cut that fits also fits with larger limits. The largest factor below the closest plan's factor is tried first,
    // because most settings fail there. At the closest plan's own factor the cut has to be faster.
    auto end = std::ranges::lower_bound(kFactors, closest.factor);
    if (end == kFactors.begin() || !fits(*std::prev(end))) {
      if (end != kFactors.end()) fits(*end);
      continue;
    }
    for (auto begin = kFactors.begin(); begin + 1 < end;) {
      const auto middle = begin + (end - 1 - begin) / 2;
      if (fits(*middle))
        end = middle + 1;
      else
        begin = middle + 1;
    }
  }
}

// Tries plans in parallel and merges the results in order. Each plan is compared with the closest plan before the call,
// so results do not depend on the threads.
void try_plans(const Problem& p, std::vector<Plan> plans, Closest& closest) {
  for (const Plan& plan : plans) p.cuts.prepare(plan);
  std::erase_if(plans, [&](const Plan& plan) { return !p.cuts.accepts(plan) || p.cuts.rules_for(plan).empty(); });
  std::vector<Closest> found(plans.size(), closest);
  parallel_for(plans.size(), p.options.threads, [&](std::size_t i) {
    check_stop(p);
    found[i].evaluations = found[i].work = 0;
    closest_of(p, plans[i], found[i]);
  });
  for (Closest& f : found) {
    closest.evaluations += f.evaluations, closest.work += f.work;
    closest.tried |= f.tried;
    if (closest.illegal.empty()) closest.illegal = f.illegal;
    if (std::pair(f.factor, -f.rate) < std::pair(closest.factor, -closest.rate))
      closest.plan = std::move(f.plan), closest.factor = f.factor, closest.rate = f.rate;
  }
}

// Searches for the closest plan. Each round tries one setting space of every cell in a group of cells.
Closest find_closest(const Problem& p) {
  Closest closest;
  for (std::size_t begin = 0; begin < p.cells.size(); begin += kBudget.explained_cells_at_a_time) {
    std::vector<std::vector<SettingSpace>> spaces;
    std::size_t most = 0;
    for (std::size_t i = begin; i < std::min(p.cells.size(), begin + kBudget.explained_cells_at_a_time); ++i) {
      spaces.push_back(setting_spaces(p.job, p.cells[i], p.options.defaults));
      most = std::max(most, spaces.back().size());
    }
    std::vector<Plan> plans;
    for (std::size_t k = 0; k < most; ++k) {
      for (const std::vector<SettingSpace>& of_cell : spaces) {
        if (k < of_cell.size()) std::ranges::copy(leanest(of_cell[k], p.job.machine.chip), std::back_inserter(plans));
        if (plans.size() < kBudget.explained_plans_at_a_time) continue;
        try_plans(p, std::exchange(plans, {}), closest);
        if (closest.enough()) return closest;
      }
    }
    try_plans(p, std::move(plans), closest);
    if (closest.enough()) return closest;
  }
  return closest;
}

// Returns why no setting could be tried: why the first cell that has a reason is illegal.
std::string structural_reason(const Problem& p) {
  for (const Cell& cell : p.cells) {
    if (std::string why = why_not_legal(p.tables, cell); !why.empty()) return why;
  }
  return "no plan has all of the pinned values";
}

// Returns the overflow to report if no closest plan was found.
Overflow without_closest(const Problem& p, const Closest& closest) {
  if (!closest.tried || !closest.illegal.empty()) {
    const std::string why = closest.tried ? closest.illegal : structural_reason(p);
    return {"structure", "the pinned plan", Bytes(0), why + legal_changes_text(p.tables, p.options.defaults)};
  }
  return {"memory", "every plan that was tried", Bytes(0),
          "a tile, or Streaming Memory, would have to be more than " +
              std::to_string(static_cast<int>(kFactors.back())) + " times as large"};
}

std::vector<Overflow> overflows_of(const Problem& p, const Plan& plan) {
  const UnitTable& table = p.tables.table(table_key(plan));
  const Program program = lower(table, plan, p.job.optimizer);
  std::vector<Overflow> overflows = find_overflows(program, cost(program, p.tables.model()), table);
  if (!overflows.empty()) return overflows;
  return {Overflow{"tile memory", "by the tables' upper bound", Bytes(0),
                   "the lowered plan fits; the tables refuse it by less than 3 %"}};
}

}  // namespace

void explain_infeasible(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells,
                        SearchResult& result) {
  PinnedCuts cuts(tables, options.defaults);
  const Problem p{tables, tables.job(), options, cells, cuts};
  Closest closest = find_closest(p);
  result.stats.evaluations += closest.evaluations;
  if (closest.plan)
    result.overflows = overflows_of(p, *closest.plan);
  else
    result.overflows = {without_closest(p, closest)};
  result.closest = std::move(closest.plan);
  if (options.find_fix) result.nearest_fix = find_nearest_fix(tables, options).text();
}

}  // namespace superstep
