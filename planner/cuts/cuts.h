// SPDX-License-Identifier: Apache-2.0
// Finds where to cut the model into stages and phases: dynamic programmes over cut points, for one setting of all other
// fields.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/software/plan_facts.h"
#include "planner/cost/evaluate.h"
#include "planner/cuts/search_budget.h"

namespace superstep {

class PipelineStages;
struct IntegerPin;

// Limits that cuts must keep, and the effort that a programme may spend.
struct CutLimits {
  std::int64_t tile = 0;          // bytes per compute tile
  std::int64_t executable = 0;    // bytes of code per tile; they count towards `tile` as well
  std::int64_t io_tile = 0;       // bytes per IO tile
  std::int64_t ddr = 0;           // bytes of Streaming Memory per IPU
  std::int64_t best = INT64_MAX;  // cycles of the incumbent: only faster cuts are looked for
  std::int64_t least = 0;         // lower bound on the cycles of all cuts; 0: none is known
  bool reduced_budget = false;    // phases: the full budget of cases is not tried, so that more cuts may stay open
  // Phases: work after which the programme stops, in comparisons of two labels (PhaseProgramme::work()); 0: no limit.
  // Cuts that were not looked at stay open.
  std::int64_t most_work = 0;
  // Time at which the programme stops. Cuts that were not looked at stay open.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Phases: cases of the code that IPU groups hold, tried before labels hold the code instead. A few cases are less
  // work than such labels.
  int few_cases = kBudget.few_cases;
};

// Cuts that the pins and the software of a job allow. The rules do not own what the pointers refer to.
struct CutRules {
  std::vector<Recompute> modes = {Recompute::none, Recompute::layer, Recompute::stage};  // allowed for every stage
  std::vector<Recompute> last_modes;  // pipelines: allowed for the last stage instead; empty: as `modes`
  const std::vector<Recompute>* stage_modes = nullptr;  // pinned mode of each stage; null: free
  const std::vector<std::int64_t>* stages = nullptr;    // pinned first unit of each stage; null: free
  const std::vector<std::int64_t>* phases = nullptr;    // pinned first stage of each phase; null: free
  const IntegerPin* phase_count = nullptr;              // pinned number of phases; null: free
  // Pipelines: pairs of units that must be on one IPU group; null: none.
  const std::vector<UnitFacts::Tie>* together = nullptr;
  bool wrap = false;  // pipelines: one stage more than IPU groups, so that the last stage returns to IPU group 0
};

// The fields of a plan that a cut programme decides, and the time of that plan.
struct Cuts {
  std::vector<std::int64_t> stages, stage_ipu, phases;  // as in Plan
  std::vector<Recompute> recompute;
  std::int64_t cycles = 0;  // as evaluate() gives for the plan with these cuts
};

// Returns a lower bound on the cycles of every cut of a setting, without a programme. INT64_MAX: no cut fits.
std::int64_t least_cycles(const Setting& setting, const CutLimits& limits);

// Returns the fastest cut into the stages of one pipeline that keeps the limits. Empty: no such cut takes fewer cycles
// than limits.best.
//
// The result is exact. A label holds the slowest stage, the widest copy and the longest update of a partial cut. A
// label is dropped only where another label of the same units and number of stages dominates it. A label whose bound is
// no better than the incumbent is pruned. A cut into even stages is the first incumbent. A better cut must be better in
// the slowest stage, the widest copy or the longest update, which bounds the other numbers.
//
// At the deadline the best cut so far is returned. `open`, when not null, then receives a lower bound on the cycles of
// all cuts; otherwise `open` is not touched.
std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                                 std::int64_t* open = nullptr);
// Cuts a setting again within other limits. `stages` keeps the numbers of its stages from call to call.
std::optional<Cuts> cut_pipeline(PipelineStages& stages, const CutLimits& limits, std::int64_t* open = nullptr);

// Returns the fastest cut into phases that keeps the limits, each phase a pipeline of stages. Empty: no such cut was
// found that takes fewer cycles than limits.best.
//
// The result is exact unless a budget is exhausted. A budget may be exhausted where the code that an IPU holds for all
// its phases, or Streaming Memory, decides what fits. `open`, when not null, then receives a lower bound on the cycles
// of the cuts left out. It is not touched if no such cut could be faster. `work`, when not null, receives the work
// done, in the unit of CutLimits::most_work.
std::optional<Cuts> cut_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                               std::int64_t* open, std::int64_t* work = nullptr);

// Returns a lower bound on the cycles of every cut into phases. The programme of cut_phases() runs without cases,
// and counts for each stage only the stage's own code. INT64_MAX: no cut fits and takes fewer cycles than limits.best.
// `exact`, when not null, receives true if the result is the least that the programme finds. False: limits.most_work or
// the time was exhausted first, and the result is the bound that was proved by then.
std::int64_t bound_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                          bool* exact = nullptr);

// Returns a higher lower bound than bound_phases(), by more work. Cuts have room for the code of all phases, and pay a
// Lagrangian price for Streaming Memory where there is too little.
std::int64_t bound_phases_by_prices(const Setting& setting, const CutRules& rules, const CutLimits& limits);

// Returns a copy of `plan` with the fields of `cuts`.
inline Plan with_cuts(const Plan& plan, const Cuts& cuts) {
  Plan p = plan;
  p.stages = cuts.stages;
  p.stage_ipu = cuts.stage_ipu;
  p.phases = cuts.phases;
  p.recompute = cuts.recompute;
  return p;
}

}  // namespace superstep
