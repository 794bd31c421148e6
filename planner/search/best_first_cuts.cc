// SPDX-License-Identifier: Apache-2.0
// The cut programmes of a search: bounds of branches, best plans of leaves, and guesses of first plans, each with its
// budget.
#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "model/cost/fit_probability.h"
#include "planner/search/best_first.h"

namespace superstep {
namespace {

// Returns the reduced budget of a leaf, in steps (CutLimits::most_work). A setting that uses remote tiles gets less, as
// most such settings do not fit.
std::int64_t reduced_work(const Setting& setting) {
  return setting.uses_remote_tile() ? kBudget.first_work : kBudget.reduced_work;
}

}  // namespace

// Returns the bytes of a tile that plans of a setting may use to fit with the probability asked for. For a bound on
// many settings: no less than for each of them.
std::int64_t BestFirst::likely_tile(const Setting& s) const {
  const Chip& chip = job_.machine.chip;
  if (options_.fit_probability == 0) return chip.tile_memory.value;
  const std::int64_t band = tables_.model().calibration().memory_band(s.least_temporary_cap());
  return std::max<std::int64_t>(0, chip.tile_memory.value - margin_for(options_.fit_probability, band));
}

// Returns the limits of the cut programmes of a setting: memory, deadline, and the cycles that a plan must stay below.
// `least`: score that plans must exceed; 0: no such score.
CutLimits BestFirst::limits_of(const Setting& s, double least) const {
  CutLimits limits;
  limits.tile = std::min(how_.tile, how_.whole_tile ? job_.machine.chip.tile_memory.value : likely_tile(s));
  limits.executable = s.executable_limit();
  limits.io_tile = s.limit();
  limits.ddr = s.ddr_limit();
  limits.best = how_.below_cycles;
  limits.most_work = options_.work_limit;  // a programme alone does not exceed the limit of all
  if (options_.time_limit > 0) {
    using Clock = std::chrono::steady_clock;
    limits.deadline =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.time_limit));
  }
  if (least > 0) limits.best = std::min(limits.best, cycles_of(s.plan().global_batch(), least));
  return limits;
}

// Returns the cycles of a step with this score, rounded down; at most INT64_MAX.
std::int64_t BestFirst::cycles_of(std::int64_t global_batch, double score) const {
  const double cycles = how_.goal.step_seconds(global_batch, score) * job_.machine.chip.clock.value;
  return cycles < static_cast<double>(INT64_MAX) ? static_cast<std::int64_t>(cycles) : INT64_MAX;
}

// Returns a bound on all plans of a branch: the best cut of the setting that bounds the branch. `least`: score that a
// plan must exceed, 0: none. `most_work`: budget of a full programme over phases, 0: not run.
// The bound of several settings in phases leaves out that an IPU holds the code of all its phases. The bound of one
// setting counts this code: a tighter bound saves the tables that dividing the setting would need.
NodeResult BestFirst::bound(const Branch& branch, double least, std::int64_t most_work) const {
  NodeResult out;
  const Setting setting = branch.setting();
  CutLimits limits = limits_of(setting, least);
  const std::int64_t none = limits.best;
  for (const CutRules& rules : cuts_.rules_for(setting.plan())) {
    ++out.programmes;
    CutLimits some = limits;
    if (least == 0)
      some.most_work = kBudget.first_work;
    else if (branch.part.single())
      some.most_work = reduced_work(setting);
    std::int64_t cycles = INT64_MAX;
    std::optional<Cuts> cuts;
    if (!setting.plan().phased())
      cuts = cut_pipeline(setting, rules, limits, &cycles);
    else if (branch.part.single())
      cycles = bound_phases_by_prices(setting, rules, some);
    else
      cycles = phase_bounds_.bound(setting, rules, some);
    if (most_work > 0 && cycles < limits.best) {
      CutLimits more = limits;
      more.least = cycles;
      more.most_work = most_work;
      std::int64_t work = 0;
      cycles = INT64_MAX;
      cuts = cut_phases(setting, rules, more, &cycles, &work);
      out.work += work;
    }
    limits.best = std::min({limits.best, cycles, cuts ? cuts->cycles : INT64_MAX});
  }
  out.least = limits.best;
  if (limits.best < none) out.bound = score(setting.plan().global_batch(), limits.best);
  return out;
}

// Returns the best plan of a setting for each of its cut rules, and the bound on cuts that were left out.
NodeResult BestFirst::leaf(const Setting& setting, CutLimits limits) const {
  NodeResult out;
  if (limits.reduced_budget) limits.most_work = reduced_work(setting);
  const Plan& plan = setting.plan();
  if (!cuts_.accepts(plan)) return out;
  for (const CutRules& rules : cuts_.rules_for(plan)) {
    ++out.programmes;
    std::int64_t open = INT64_MAX, work = 0;
    const std::optional<Cuts> cuts =
        plan.phased() ? cut_phases(setting, rules, limits, &open, &work) : cut_pipeline(setting, rules, limits, &open);
    out.work += work;
    if (open < INT64_MAX) out.open_bound = std::max(out.open_bound, score(plan.global_batch(), open));
    if (!cuts) continue;
    Candidate c;
    c.plan = with_cuts(plan, *cuts);
    cuts_.pin_groups(c.plan);
    if (!check_plan(c.plan, setting.table().facts(), job_.machine, tables_.training()).empty()) continue;
    ++out.evaluations;
    c.estimate = evaluate(setting, c.plan);
    c.fits = c.estimate.tile_peak <= limits.tile && c.estimate.fits(setting);
    c.samples_per_second = static_cast<double>(c.plan.global_batch()) /
                           (static_cast<double>(c.estimate.cycles) / job_.machine.chip.clock.value);
    (c.fits ? out.feasible : out.refused) = true;
    if (!c.fits) {
      out.open_bound = std::max(out.open_bound, score(c));  // a slower cut may fit
      continue;
    }
    limits.best = std::min(limits.best, c.estimate.cycles);
    out.found.push_back(std::move(c));
  }
  return out;
}

// Guesses plans of a cell in phases with a small budget: one leaf for each of the branches with the highest bounds.
// Each plan found is better than the plans before.
void BestFirst::guess_plans(const NodeTask& task, NodeResult& out) const {
  double least = task.least;
  std::vector<const OpenNode*> first;
  for (const OpenNode& child : out.children) first.push_back(&child);
  std::ranges::stable_sort(first, std::greater<>(), &OpenNode::bound);
  if (first.size() > kBudget.guesses) first.resize(kBudget.guesses);
  for (const OpenNode* child : first) {
    if (child->bound <= least || late()) return;
    const std::optional<Branch> likely = child->branch.guess(tables_, limits_of(child->branch.setting(), 0));
    if (!likely) continue;
    const Setting setting = likely->setting();
    CutLimits limits = limits_of(setting, least);
    limits.most_work = kBudget.first_work;
    NodeResult visit = leaf(setting, limits);
    out.programmes += visit.programmes;
    out.evaluations += visit.evaluations;
    for (Candidate& c : visit.found) {
      least = std::max(least, score(c));
      out.found.push_back(std::move(c));
    }
  }
}

}  // namespace superstep
