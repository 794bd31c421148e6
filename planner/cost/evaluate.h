// SPDX-License-Identifier: Apache-2.0
// Time and memory of a plan in closed form, from the unit tables: what the search compares by.
#pragma once

#include <memory>

#include "planner/cost/setting.h"

namespace superstep {

struct Estimate {
  std::int64_t cycles = 0;     // of one step
  std::int64_t tile_peak = 0;  // fullest tile
  std::int64_t executable = 0;
  std::int64_t ddr = 0;      // of the IPU that holds most
  std::int64_t waiting = 0;  // on the fullest IO tile: what is preloaded
  bool fits(const Setting& s) const {
    return tile_peak <= s.limit() && executable <= s.executable_limit() && ddr <= s.ddr_limit() && waiting <= s.limit();
  }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// One fully specified plan, its stages summed up unit by unit. No allocation.
Estimate evaluate(const Setting& setting, const Plan& plan);

// The same, to the last bit, for many plans that differ from the setting's in cuts and recompute alone. Numbers of
// stages are kept and found again for equal runs of units, and equal phases that follow each other count once, times
// their number. Allocates when it is made and never after. The setting must outlive it; one thread at a time.
class Evaluator {
 public:
  explicit Evaluator(const Setting& setting);
  Evaluator(Evaluator&&) noexcept;
  ~Evaluator();
  Estimate operator()(const Plan& plan);

 private:
  class Known;
  std::unique_ptr<Known> known_;
};

}  // namespace superstep
