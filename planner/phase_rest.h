// SPDX-License-Identifier: Apache-2.0
// How little phases can take: each as if its units could be spread evenly over all its IPU groups.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cuts.h"

namespace superstep {

class PhaseRest {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  PhaseRest(const Setting& setting, const CutLimits& limits);

  // Least cycles of a step's part for units [begin, end of the model) when a phase begins with the first of them;
  // kNever: they do not fit.
  std::int64_t from(std::int64_t begin) const { return from_[static_cast<std::size_t>(begin)]; }

  // The same when the phase began at `begin` before `end` and goes on to it at least: for that phase and what follows
  // it, and for what follows it alone. By `end` - `begin`; shorter than to the model's end where nothing longer fits.
  struct Within {
    std::vector<std::int64_t> whole, behind;
  };
  Within within(std::int64_t begin) const;

 private:
  const Setting& s_;
  std::int64_t n_, depth_, g_, repeats_;
  bool training_;
  std::int64_t held_limit_ = 0;  // bytes per tile of all IPU groups of a phase together
  std::vector<bool> fits_;       // by unit: alone
  std::vector<std::int64_t> from_;

  template <class F>
  void for_phases(std::int64_t begin, F f) const;
  std::int64_t cycles(const Setting::Least& sum, std::int64_t begin, std::int64_t end) const;
};

}  // namespace superstep
