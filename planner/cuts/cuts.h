// SPDX-License-Identifier: Apache-2.0
// Where the model is cut: dynamic programmes over cut points for one setting of all other fields.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cost/evaluate.h"
#include "planner/cuts/search_budget.h"

namespace superstep {

class PipelineStages;
struct IntegerPin;

struct CutLimits {
  std::int64_t tile = 0;          // bytes per tile
  std::int64_t executable = 0;    // of which code
  std::int64_t io_tile = 0;       // bytes per IO tile
  std::int64_t ddr = 0;           // Streaming Memory per IPU
  std::int64_t best = INT64_MAX;  // cycles: plans that take longer are of no interest
  std::int64_t least = 0;         // cycles that no cuts take less than, as far as that is known
  bool reduced_budget = false;    // phases: what is left after some of the work stays open
  std::int64_t most_work = 0;     // phases: what is left after so much stays open, see PhaseProgramme; 0: no limit
  // What is left by then stays open.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Of what code the IPU groups hold for their phases: so many are looked at before labels hold it, since few are less
  // work.
  int few_cases = kBudget.few_cases;
};

struct CutRules {
  std::vector<Recompute> modes = {Recompute::none, Recompute::layer, Recompute::stage};  // allowed per stage
  const std::vector<Recompute>* stage_modes = nullptr;  // pinned mode of each stage; null: free
  const std::vector<std::int64_t>* stages = nullptr;    // pinned first units; null: free
  const std::vector<std::int64_t>* phases = nullptr;    // pinned first stages of phases
  const IntegerPin* phase_count = nullptr;              // pinned numbers of phases; null: free
  bool wrap = false;                                    // one stage more than IPU groups: the last returns to IPU 0
};

struct Cuts {
  std::vector<std::int64_t> stages, stage_ipu, phases;
  std::vector<Recompute> recompute;
  std::int64_t cycles = 0;  // as evaluate() gives for the plan with these cuts
};

// Cycles that no cut of a setting takes less than, from little work: the programmes below find it by far more.
// INT64_MAX: none fits.
std::int64_t least_cycles(const Setting& setting, const CutLimits& limits);

// The cuts with least time that fit, for stages one after the other in a pipeline. Exact: a label holds
// the slowest stage, the widest copy and the longest update so far, and is dropped only when another
// label of the same cut is no worse in all of them. A cut that is better than one of even stages must be so in one of
// these, which bounds the others.
// At the deadline they are the best so far: `open`, when given, then receives cycles that none takes less than. Else it
// is not touched.
std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                                 std::int64_t* open = nullptr);
// The same for a setting that is cut again and again within other limits.
std::optional<Cuts> cut_pipeline(PipelineStages& stages, const CutLimits& limits, std::int64_t* open = nullptr);

// The same for phases, each spread over the pipeline. Exact unless its budget runs out too, which can happen where the
// code that an IPU holds for all its phases, or Streaming Memory, decides what fits: `open` then receives a bound on
// the cuts left out, if they could be faster. `work`, when given, receives how much it took, in units of
// CutLimits::most_work.
std::optional<Cuts> cut_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                               std::int64_t* open, std::int64_t* work = nullptr);

// Cycles that no cut into phases takes less than: the same programme, which leaves out that an IPU holds the code of
// all its phases. INT64_MAX: none fits and is faster than limits.best. `exact`, when given, receives whether it is the
// least that the programme finds, not what it had proved when limits.most_work or the time was used up.
std::int64_t bound_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                          bool* exact = nullptr);

// More of it, by more work: that of a cut which has room for the code of all phases and, where Streaming Memory is too
// little, pays for it.
std::int64_t bound_phases_by_prices(const Setting& setting, const CutRules& rules, const CutLimits& limits);

// A copy of the setting's plan with these cuts.
inline Plan with_cuts(const Plan& plan, const Cuts& cuts) {
  Plan p = plan;
  p.stages = cuts.stages;
  p.stage_ipu = cuts.stage_ipu;
  p.phases = cuts.phases;
  p.recompute = cuts.recompute;
  return p;
}

}  // namespace superstep
