// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the cycles of phases: each phase as if its units could be spread evenly over all its IPU groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/cost/phase_numbers.h"
#include "planner/cuts/cuts.h"

namespace superstep {

// Suffix bounds of one setting, or of all settings of a cell.
class PhaseRest {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;  // cycles that stand for "nothing fits"

  // Units of equal runs must have equal numbers. `runs` must outlive this object.
  PhaseRest(PhaseNumbers numbers, const EqualRuns& runs);
  PhaseRest(const Setting& setting, const CutLimits& limits);

  // Returns a lower bound on the cycles of a step; kNever: nothing fits.
  std::int64_t least() const;

  // Returns a lower bound on a step's cycles for units [begin, end of the model), where a phase begins with unit
  // `begin`. Loads are left out where they overlap. kNever: these units do not fit.
  std::int64_t from(std::int64_t begin) const { return from_[static_cast<std::size_t>(begin)]; }

  // Lower bounds for a phase that begins with unit `begin`, by the least number of its units. `whole` counts the phase
  // and all later phases, `behind` only the later phases. The lists end with the longest phase that fits. kNever:
  // nothing fits.
  struct Within {
    std::vector<std::int64_t> whole, behind;
  };
  Within within(std::int64_t begin) const;

 private:
  PhaseNumbers m_;
  const EqualRuns& runs_;
  std::int64_t n_;
  int shift_ = -1;                        // depth is 2^shift_; -1: depth is no power of two
  std::vector<PhaseNumbers::Unit> sums_;  // by unit u: sums over units [0, u)
  std::vector<std::int64_t> end_ranges_;  // by first unit: where the longest phase that fits ends
  std::vector<std::int64_t> cycles_;      // by EqualRuns::number(): lower bound for a phase of that run
  std::vector<std::int64_t> from_;        // by unit: see from()
  std::int64_t loads_ = 0;                // lower bound on the cycles of a step's loads

  // Returns where the longest phase from unit `begin` on ends. One phase of all units is excluded: it is a pipeline.
  std::int64_t longest(std::int64_t begin) const {
    const std::int64_t end = end_ranges_[static_cast<std::size_t>(begin)];
    return begin == 0 ? std::min(end, n_ - 1) : end;
  }
  // Returns an even share of a phase's cycles among its IPU groups, rounded down.
  std::int64_t share(std::int64_t cycles) const { return shift_ >= 0 ? cycles >> shift_ : cycles / m_.depth; }
  std::int64_t sum(std::int64_t PhaseNumbers::Unit::*number, std::int64_t begin, std::int64_t end) const {
    return sums_[static_cast<std::size_t>(end)].*number - sums_[static_cast<std::size_t>(begin)].*number;
  }
  void add_up();
  void find_end_range();
  std::int64_t fewest_phases() const;
  void find_cycles();
  void find_rest();
  void find_loads();
  std::int64_t cycles(std::int64_t begin, std::int64_t end) const;
  // Returns a lower bound for units [begin, end of the model) where their first phase ends at `end`.
  std::int64_t whole(std::int64_t begin, std::int64_t end) const {
    if (from(end) == kNever) return kNever;
    return cycles_[runs_.number(begin, end)] + from(end);
  }
};

}  // namespace superstep
