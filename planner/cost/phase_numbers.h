// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace superstep {

// What a bound on phases asks of a setting, or of all settings of a cell (see PhaseRest). Cycles, but for `resident`.
struct PhaseNumbers {
  struct Unit {
    bool fits = true;                        // alone on a tile
    std::int64_t resident = 0;               // bytes per tile
    std::int64_t forward = 0, backward = 0;  // per micro-batch; the backward runs the forward again
    // Per micro-batch, of the boundary in front of it where a phase begins there, and where the one before ends.
    std::int64_t enter_forward = 0, enter_backward = 0, leave_forward = 0, leave_backward = 0;
    std::int64_t update = 0, load = 0;  // per step, per load
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  std::int64_t depth = 1;              // IPU groups of a phase
  std::int64_t g = 1, repeats = 1;     // micro-batches in a row, and how often
  std::int64_t held = 0;               // bytes per tile for residents, of all IPU groups of a phase together
  std::int64_t taken = 0;              // bytes per tile of that, by each phase but the first of the same IPU groups
  std::int64_t groups = 1;             // of IPU groups, whose phases take turns
  std::int64_t micro_batch_fixed = 0;  // per micro-batch and pass
  std::int64_t update_fixed = 0;       // per phase
  bool moves_overlap = false;          // boundaries move while others compute
  bool loads_overlap = false;          // weights' loads hide behind the neighbouring phases
  bool training = true;
};

}  // namespace superstep
