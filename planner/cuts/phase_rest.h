// SPDX-License-Identifier: Apache-2.0
// How little phases can take: each as if its units could be spread evenly over all its IPU groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/cost/phase_numbers.h"
#include "planner/cuts/cuts.h"

namespace superstep {

class PhaseRest {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  // Equal runs have equal numbers.
  PhaseRest(PhaseNumbers numbers, const EqualRuns& runs);
  PhaseRest(const Setting& setting, const CutLimits& limits);

  // No step takes less; kNever: nothing fits.
  std::int64_t least() const;

  // Least cycles of a step's part for units [begin, end of the model) when a phase begins with the first of them, loads
  // left out where they overlap; kNever: they do not fit.
  std::int64_t from(std::int64_t begin) const { return from_[static_cast<std::size_t>(begin)]; }

  // The same when the phase began at `begin` before `end` and goes on to it at least: for that phase and what follows
  // it, and for what follows it alone. By `end` - `begin`; shorter than to the model's end where nothing longer fits.
  struct Within {
    std::vector<std::int64_t> whole, behind;
  };
  Within within(std::int64_t begin) const;

 private:
  PhaseNumbers m_;
  const EqualRuns& runs_;
  std::int64_t n_;
  int shift_ = -1;                        // depth as a power of two; -1: it is none
  std::vector<PhaseNumbers::Unit> sums_;  // of the units before
  std::vector<std::int64_t> ends_;        // of the longest phase that may begin at a unit
  std::vector<std::int64_t> cycles_;      // of a phase, by its run's number
  std::vector<std::int64_t> from_;
  std::int64_t loads_ = 0;

  // Where a phase that begins at a unit may end: one phase alone is a pipeline.
  std::int64_t longest(std::int64_t begin) const {
    const std::int64_t end = ends_[static_cast<std::size_t>(begin)];
    return begin == 0 ? std::min(end, n_ - 1) : end;
  }
  // An even share of a phase's stages.
  std::int64_t share(std::int64_t cycles) const { return shift_ >= 0 ? cycles >> shift_ : cycles / m_.depth; }
  std::int64_t sum(std::int64_t PhaseNumbers::Unit::*number, std::int64_t begin, std::int64_t end) const {
    return sums_[static_cast<std::size_t>(end)].*number - sums_[static_cast<std::size_t>(begin)].*number;
  }
  void add_up();
  void find_ends();
  std::int64_t fewest_phases() const;
  void find_cycles();
  void find_rest();
  void find_loads();
  std::int64_t cycles(std::int64_t begin, std::int64_t end) const;
  // Of units [begin, end of the model) where the phase that begins them ends at `end`.
  std::int64_t whole(std::int64_t begin, std::int64_t end) const {
    if (from(end) == kNever) return kNever;
    return cycles_[runs_.number(begin, end)] + from(end);
  }
};

}  // namespace superstep
