// SPDX-License-Identifier: Apache-2.0
// Turns the pins of a job into the cut rules of a setting.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "planner/cost/tables.h"
#include "planner/cuts/cuts.h"

namespace superstep {

// Cut rules of one job. Safe to share between threads.
class PinnedCuts {
 public:
  // `defaults`: fields that are not pinned take their defaults and are not searched.
  PinnedCuts(Tables& tables, bool defaults) : tables_(tables), defaults_(defaults) {}

  // True if the plan's setting is cut into phases; false: into the stages of one pipeline.
  bool searches_phases(const Plan& plan) const;
  // Finds the pinned stages of the plan's graph, once per micro-batch and mesh. Must come before rules_for().
  void prepare(const Plan& plan);
  // Returns the rules of every cut programme to run. Phases have one programme. Pipelines have up to two: without and
  // with a last stage that returns to the first IPU group. Empty: the pins and the accumulation allow no cut.
  std::vector<CutRules> rules_for(const Plan& plan) const;

 private:
  Tables& tables_;
  bool defaults_;
  mutable std::mutex mutex_;
  // Pinned first units of stages, by micro-batch and mesh; empty: free.
  std::map<std::pair<std::int64_t, TensorParallel>, std::vector<std::int64_t>> stages_;

  const std::vector<std::int64_t>& stages_of(const Plan& plan) const;
};

}  // namespace superstep
