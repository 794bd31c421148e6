// SPDX-License-Identifier: Apache-2.0
// Time and memory of a plan in closed form, from the unit tables. The search compares plans by these numbers.
#pragma once

#include <memory>

#include "planner/cost/setting.h"

namespace superstep {

// Time of one step, and the most memory that any IPU needs.
struct Estimate {
  std::int64_t cycles = 0;      // of one step
  std::int64_t tile_peak = 0;   // bytes on the fullest compute tile, code included
  std::int64_t executable = 0;  // bytes of code per tile
  std::int64_t ddr = 0;         // bytes per IPU of Streaming Memory
  std::int64_t waiting = 0;     // bytes on the fullest IO tile: preloaded weights and code
  bool fits(const Setting& s) const {
    return tile_peak <= s.limit() && executable <= s.executable_limit() && ddr <= s.ddr_limit() && waiting <= s.limit();
  }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Returns the estimate of a plan whose fields are all given. Sums up the units of each stage. Allocates no memory,
// apart from buffers that each thread keeps.
Estimate evaluate(const Setting& setting, const Plan& plan);

// Evaluates many plans that differ from the setting's plan only in cuts and recompute. Results equal evaluate() to the
// last bit. Keeps the numbers of stages for equal runs of units. Counts equal phases that follow each other once, times
// their number. Allocates only during construction. The setting must outlive the evaluator. For one thread at a time.
class Evaluator {
 public:
  explicit Evaluator(const Setting& setting);
  Evaluator(Evaluator&&) noexcept;
  ~Evaluator();
  // Returns evaluate() of the setting and `plan`. Throws InternalError if only one of the two is phased.
  Estimate operator()(const Plan& plan);

 private:
  class Known;
  std::unique_ptr<Known> known_;
};

}  // namespace superstep
