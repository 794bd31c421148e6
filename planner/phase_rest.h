// SPDX-License-Identifier: Apache-2.0
// How little phases can take: each as if its units could be spread evenly over all its IPU groups.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cuts.h"
#include "planner/phase_numbers.h"

namespace superstep {

class PhaseRest {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit PhaseRest(PhaseNumbers numbers);
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
  std::int64_t n_;
  int shift_ = -1;  // depth as a power of two; -1: it is none
  std::vector<std::int64_t> from_;
  std::int64_t loads_ = 0;

  // An even share of a phase's stages.
  std::int64_t share(std::int64_t cycles) const { return shift_ >= 0 ? cycles >> shift_ : cycles / m_.depth; }
  template <class F>
  void for_phases(std::int64_t begin, F f) const;
  std::int64_t cycles(const PhaseNumbers::Unit& sum, std::int64_t begin, std::int64_t end) const;
};

}  // namespace superstep
