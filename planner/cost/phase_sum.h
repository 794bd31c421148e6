// SPDX-License-Identifier: Apache-2.0
// What the phases of a plan add up to, in cycles and on each IPU. For evaluate.cc, which calls it in its innermost
// loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cost/setting.h"

namespace superstep {

// A stage of a phase; bytes per tile, `ddr` and `lent` per IPU. Cycles that every phase needs the slowest of are whole
// numbers as double, of which x86-64 has a maximum in one instruction: exact below 2^53, 56 days.
struct PhaseStage {
  double forward = 0, backward = 0;  // per micro-batch, boundaries included
  double load = 0;                   // of weights, and of code that comes with them
  double update = 0, copy = 0;
  std::int64_t peak = 0;
  std::int64_t ddr = 0, lent = 0;
  std::uint64_t rows = 0;
  std::int64_t code = 0, code_load = 0;  // what comes with the phase; its load where that is at another time
  std::int64_t spill = 0;
  std::int64_t waiting = 0;  // per IO tile
};

// `first` and `leaves`: it begins its phase; another phase follows it.
PhaseStage phase_stage(const Setting& s, Range units, Recompute mode, bool first, bool leaves);

// What an IPU holds: of the fullest phase, the most code that comes with one, and outside of it.
struct PhaseIpu {
  std::int64_t peak = 0, code = 0, ddr = 0, lent = 0;
  std::uint64_t rows = 0;
};

// Cycles of phases one after the other.
class PhaseSum {
 public:
  // The slowest of the stages of a phase, in each.
  struct Phase {
    double forward = 0, backward = 0, load = 0, update = 0, widest = 0;
    std::int64_t depth = 0, code_load = 0, spill = 0;
    std::int64_t waiting = 0;  // bytes per IO tile
  };

  PhaseSum(const Setting& s, const Plan& plan)
      : s_(s),
        outer_(plan.phase_order == PhaseOrder::phase_outer),
        training_(s.table().training()),
        g_(plan.gradient_accumulation) {}

  // `times` equal phases, none of them the first or last one if there are several.
  void add(const Phase& p, std::int64_t times, bool first, bool last) {
    const auto whole = [](double cycles) { return static_cast<std::int64_t>(cycles); };
    const std::int64_t per_cycle = whole(p.widest) + s_.micro_batch_fixed() + (p.depth > 1 ? s_.cycle_fixed() : 0);
    const std::int64_t rounds = (outer_ ? g_ : 1) + p.depth - 1;
    const std::int64_t forward = rounds * (whole(p.forward) + per_cycle);
    const std::int64_t backward = rounds * (whole(p.backward) + per_cycle), load = whole(p.load);
    // Loads stand alone or hide behind the neighbouring phase; the last phase stays for its backward.
    const auto [ahead, at_once] = s_.weights_come_ahead() ? std::pair(load, p.code_load) : std::pair(p.code_load, load);
    total_ += times * at_once * (training_ && !last ? 2 : 1);
    if (first)
      (training_ ? once_ : total_) += ahead;  // after its backward it is still there for the next micro-batch
    else
      total_ += times * std::max(before_, ahead);
    if (training_) total_ += times * (first ? backward : std::max(backward, previous_load_));
    if (last) total_ += forward;
    if (training_) (outer_ ? total_ : once_) += times * (whole(p.update) + s_.update_fixed());
    if (training_ && !outer_) total_ += times * p.spill;
    before_ = forward;
    previous_load_ = ahead;
  }
  std::int64_t cycles() const { return once_ + total_ * (outer_ ? 1 : g_); }

 private:
  const Setting& s_;
  const bool outer_, training_;
  const std::int64_t g_;
  std::int64_t total_ = 0, once_ = 0, before_ = 0, previous_load_ = 0;
};

// Weights that stages of several phases have on one IPU stand outside of it once. Gradients of tied weights in one
// phase are copied, not stored.
void take_off_shared(const Setting& s, const Plan& plan, std::vector<PhaseIpu>& ipus);

}  // namespace superstep
