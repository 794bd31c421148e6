// SPDX-License-Identifier: Apache-2.0
// Sums up the phases of a plan: cycles of a step, and memory of each IPU. For the innermost loop of evaluate.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cost/setting.h"

namespace superstep {

// Numbers of a stage of a phase. Cycles of which each phase takes the maximum are whole numbers as doubles, since
// x86-64 has a maximum of doubles in one instruction. Doubles are exact below 2^53 cycles, which is 56 days.
struct PhaseStage {
  double forward = 0, backward = 0;       // cycles per micro-batch, boundary moves included
  double load = 0;                        // cycles to load weights, and code that is loaded at the same time
  double update = 0, copy = 0;            // cycles of the update; of the copy in front of the stage
  std::int64_t peak = 0;                  // bytes per tile, `code` included
  std::int64_t ddr = 0, remote_tile = 0;  // bytes per IPU in Streaming Memory, on remote tiles
  std::uint64_t rows = 0;                 // bit set of the table rows that the stage runs
  std::int64_t code = 0, code_load = 0;   // bytes per tile of code loaded with the phase; cycles, if not in `load`
  std::int64_t spill = 0;                 // cycles per micro-batch: accumulators out of the processor and back
  std::int64_t waiting = 0;               // bytes per IO tile that are preloaded
};

// Returns the numbers of a stage. `first`: the stage begins its phase. `leaves`: the stage ends its phase, and another
// phase follows.
PhaseStage phase_stage(const Setting& s, Range units, Recompute mode, bool first, bool leaves);

// Memory of one IPU over all phases. `peak`: bytes per tile in the fullest phase. `code`: the most bytes per tile that
// are loaded with a phase. `ddr`, `remote_tile`: bytes per IPU in Streaming Memory and on remote tiles. `rows`: table
// rows of all its stages.
struct PhaseIpu {
  std::int64_t peak = 0, code = 0, ddr = 0, remote_tile = 0;
  std::uint64_t rows = 0;
};

// Sums up the cycles of phases that run one after the other.
class PhaseSum {
 public:
  // The maximum over the stages of a phase, for each number of PhaseStage.
  struct Phase {
    double forward = 0, backward = 0, load = 0, update = 0, widest = 0;  // widest: of the copies
    std::int64_t depth = 0, code_load = 0, spill = 0;                    // depth: the number of stages
    std::int64_t waiting = 0;                                            // bytes per IO tile
  };

  PhaseSum(const Setting& s, const Plan& plan)
      : s_(s),
        outer_(plan.phase_order == PhaseOrder::phase_outer),
        training_(s.table().training()),
        g_(plan.gradient_accumulation) {}

  // Adds `times` equal phases, in the order of the plan. `first`, `last`: the phase is the first, the last of the plan;
  // `times` is then 1.
  void add(const Phase& p, std::int64_t times, bool first, bool last) {
    const auto whole = [](double cycles) { return static_cast<std::int64_t>(cycles); };
    const std::int64_t per_cycle = whole(p.widest) + s_.pass_fixed();
    const std::int64_t rounds = (outer_ ? g_ : 1) + p.depth - 1;
    const std::int64_t forward = rounds * (whole(p.forward) + per_cycle);
    const std::int64_t backward = rounds * (whole(p.backward) + per_cycle), load = whole(p.load);
    // A load runs alone, or beside the neighbouring phase. The last phase stays on the tiles for its backward pass.
    const auto [ahead, at_once] = s_.weights_come_ahead() ? std::pair(load, p.code_load) : std::pair(p.code_load, load);
    total_ += times * at_once * (training_ && !last ? 2 : 1);
    if (first)
      (training_ ? once_ : total_) += ahead;  // the first phase runs last backward, and stays for the next micro-batch
    else
      total_ += times * std::max(before_, ahead);
    if (training_) total_ += times * (first ? backward : std::max(backward, previous_load_));
    if (last) total_ += forward;
    if (training_) (outer_ ? total_ : once_) += times * (whole(p.update) + s_.update_fixed());
    if (training_ && !outer_) total_ += times * p.spill;
    before_ = forward;
    previous_load_ = ahead;
  }
  // Returns the cycles of a step.
  std::int64_t cycles() const { return once_ + total_ * (outer_ ? 1 : g_); }

 private:
  const Setting& s_;
  const bool outer_, training_;
  const std::int64_t g_;
  // Cycles. total_: per step, or per micro-batch with micro_batch_outer. once_: once per step, on top. before_ and
  // previous_load_: forward pass and overlapping load of the phase added last.
  std::int64_t total_ = 0, once_ = 0, before_ = 0, previous_load_ = 0;
};

// Subtracts what the sum over stages counts too often outside the tiles. Tied weights of several stages on one IPU are
// kept there once. Gradients of tied weights within one phase are copied, and need no Streaming Memory.
void take_off_shared(const Setting& s, const Plan& plan, std::vector<PhaseIpu>& ipus);

}  // namespace superstep
