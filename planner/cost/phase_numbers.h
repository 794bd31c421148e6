// SPDX-License-Identifier: Apache-2.0
// The numbers from which PhaseRest bounds the cycles of phases.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace superstep {

// Numbers of one setting, or lower bounds for all settings of a cell. All are cycles unless said otherwise.
struct PhaseNumbers {
  struct Unit {
    bool fits = true;                        // true if the unit alone fits on a tile
    std::int64_t resident = 0;               // bytes per tile that stay through the phase
    std::int64_t forward = 0, backward = 0;  // per micro-batch; backward includes the recompute
    // Per micro-batch: moves of the boundary in front of the unit, where a phase begins with the unit. `enter`: moves
    // of that phase. `leave`: moves of the phase before.
    std::int64_t enter_forward = 0, enter_backward = 0, leave_forward = 0, leave_backward = 0;
    std::int64_t update = 0, load = 0;  // per step, per load
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  std::int64_t depth = 1;           // IPU groups that a phase runs on
  std::int64_t g = 1, repeats = 1;  // micro-batches in a row through a phase, and how often a step repeats this
  std::int64_t held = 0;            // bytes per tile for residents, summed over the IPU groups of a phase
  std::int64_t taken = 0;           // bytes per tile of `held` that each later phase of the same IPU groups takes off
  std::int64_t groups = 1;          // phase groups, whose phases take turns
  std::int64_t pass_fixed = 0;      // per micro-batch and pass
  std::int64_t update_fixed = 0;    // per phase
  bool moves_overlap = false;       // true if boundaries move while other tiles compute
  bool loads_overlap = false;       // true if loads of weights run beside the neighbouring phases
  bool training = true;
};

}  // namespace superstep
