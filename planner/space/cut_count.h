// SPDX-License-Identifier: Apache-2.0
// The number of ways to cut a model into stages and phases, with a mode of recompute for each stage. Cuts are counted,
// not listed.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/graph.h"
#include "planner/job/job.h"

namespace superstep {

// Counts the cuts of a job's graph. The job must outlive the counter. Counts are long double, which holds 10^4932: more
// than 7^5000, seven choices at each of 5000 units.
class CutCounter {
 public:
  CutCounter(const Job& job, const Graph& graph);

  // Returns the number of cuts into this number of stages of one pipeline.
  long double pipelines(std::int64_t stages) const;
  // True if the pins leave cuts into phases: modes pinned stage by stage need pinned stages there.
  bool may_be_phased() const { return modes_ <= 1 || !stages_.empty(); }
  // Returns the number of cuts into two or more phases of at most `depth` stages each.
  long double phases(std::int64_t depth) const;

 private:
  const Pins& pins_;
  bool training_;
  std::vector<std::int64_t> stages_;  // pinned first units; empty: free
  std::int64_t n_;                    // number of units
  std::int64_t modes_;                // number of pinned modes; 0: free, 1: for all stages, more: one for each stage

  std::int64_t pinned_index(std::int64_t unit) const;
  std::int64_t modes(std::int64_t index, bool phased) const;
  bool begins_pinned_phase(std::int64_t index) const;
  template <class IsEnd>
  long double count_cuts(std::int64_t most_stages, std::int64_t most_phases, bool exactly, IsEnd is_end) const;
};

}  // namespace superstep
