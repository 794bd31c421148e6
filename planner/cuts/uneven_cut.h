// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "planner/cuts/cuts.h"

namespace superstep {

// Of a pipeline's cuts, which end with the best so far.
struct TimeIsUp {};
class Deadline {
 public:
  explicit Deadline(const CutLimits& limits) : at_(limits.deadline) {}
  // Throws TimeIsUp. The clock is asked now and then.
  void check() {
    constexpr int kCallsPerLook = 64;
    if (calls_++ % kCallsPerLook == 0 && std::chrono::steady_clock::now() > at_) throw TimeIsUp();
  }

 private:
  std::chrono::steady_clock::time_point at_;
  unsigned calls_ = 0;
};

// As cut_pipeline() where fill and drain are uneven (Setting::uneven_fill) and there are several stages, of which some
// limits are kept. `limits.best`: cycles that cuts must beat; `start`: cuts that fit; `late` receives whether the
// deadline came first.
std::optional<Cuts> cut_unevenly(PipelineStages& stages, const CutLimits& limits, const Cuts& start, bool& late);

}  // namespace superstep
