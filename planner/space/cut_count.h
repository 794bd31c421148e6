// SPDX-License-Identifier: Apache-2.0
// How many ways there are to cut a model into stages and phases, with a mode of recompute for each stage: counted, not
// listed.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/graph.h"
#include "planner/job/job.h"

namespace superstep {

// Of a job, which must outlive it, and its graph. Long double holds 10^4932, more than 7^5000.
class CutCounter {
 public:
  CutCounter(const Job& job, const Graph& graph);

  // Into so many stages, one after the other.
  long double pipelines(std::int64_t stages) const;
  // The modes of a pipeline's stages say nothing of those of phases.
  bool may_be_phased() const { return modes_ <= 1 || !stages_.empty(); }
  // Into two phases or more of at most `depth` stages each.
  long double phases(std::int64_t depth) const;

 private:
  const Pins& pins_;
  bool training_;
  std::vector<std::int64_t> stages_;  // pinned first units; empty: free
  std::int64_t n_;                    // units
  std::int64_t modes_;                // that are pinned: 1: of all stages, otherwise of each

  std::int64_t pinned_index(std::int64_t unit) const;
  std::int64_t modes(std::int64_t index, bool phased) const;
  bool begins_pinned_phase(std::int64_t index) const;
  template <class Ends>
  long double ways(std::int64_t most_stages, std::int64_t most_phases, bool exactly, Ends ends) const;
};

}  // namespace superstep
