// SPDX-License-Identifier: Apache-2.0
// Which cuts the pins of a job leave to a setting.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "planner/cost/tables.h"
#include "planner/cuts/cuts.h"

namespace superstep {

// Safe to share between threads.
class PinnedCuts {
 public:
  // `defaults`: what is not pinned takes its default instead of being searched.
  PinnedCuts(Tables& tables, bool defaults) : tables_(tables), defaults_(defaults) {}

  // Whether the setting is cut into phases, or into the stages of one pipeline.
  bool searches_phases(const Plan& plan) const;
  // Finds the pinned stages of the plan's graph, once per graph: before rules_for().
  void prepare(const Plan& plan);
  // A programme runs for each of them.
  std::vector<CutRules> rules_for(const Plan& plan) const;

 private:
  Tables& tables_;
  bool defaults_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::int64_t, TensorParallel>, std::vector<std::int64_t>> stages_;  // pinned, by micro-batch

  const std::vector<std::int64_t>& stages_of(const Plan& plan) const;
};

}  // namespace superstep
