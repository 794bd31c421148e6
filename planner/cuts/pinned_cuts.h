// SPDX-License-Identifier: Apache-2.0
// Turns the pins and the software of a job into the cut rules of a setting.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/cost/tables.h"
#include "planner/cuts/cuts.h"
#include "planner/space/software_space.h"

namespace superstep {

// Cut rules of one job. Safe to share between threads.
class PinnedCuts {
 public:
  // `defaults`: fields that are not pinned take their defaults and are not searched.
  PinnedCuts(Tables& tables, bool defaults);

  // Gives the stages of a cut plan the IPU groups that the job pins for as many stages.
  void pin_groups(Plan& plan) const;
  // True if the plan's setting is cut into phases; false: into the stages of one pipeline.
  bool searches_phases(const Plan& plan) const;
  // Finds the pinned stages of the plan's graph, and what its software asks of it, once per micro-batch and mesh. Must
  // come before rules_for().
  void prepare(const Plan& plan);
  // Returns the rules of every cut programme to run. Without rules of software phases have one programme, and pipelines
  // up to two: without and with a last stage that returns to the first IPU group. Empty: the pins, the software and the
  // accumulation allow no cut. A list of setting fields that the software does not accept is not looked at: see
  // accepts().
  std::vector<CutRules> rules_for(const Plan& plan) const;
  // True if the software accepts the plan's setting.
  bool accepts(const Plan& plan) const { return software_.accepts(plan, searches_phases(plan)); }

 private:
  // What the cuts of one graph are made from. Units are numbered.
  struct OfGraph {
    std::vector<std::int64_t> pinned_stages;   // first unit of each; empty: free
    std::vector<UnitFacts::Tie> ties;          // weights that several units use
    std::vector<std::int64_t> layers, phases;  // first unit of each layer, and of what is around them; their numbers
  };
  // The fields that shapes of cuts depend on.
  using ShapeKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, Schedule, bool, bool>;

  Tables& tables_;
  bool defaults_;
  SoftwareSpace software_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::int64_t, TensorParallel>, OfGraph> graphs_;  // by micro-batch and mesh
  mutable std::map<ShapeKey, std::vector<CutShape>> shapes_;

  const OfGraph& graph_of(const Plan& plan) const;
  const std::vector<CutShape>& shapes_of(const Plan& plan, bool phased, bool ties) const;
  // Returns false if the pins and the shape have no cut in common.
  bool add_shape(const CutShape& shape, const OfGraph& graph, CutRules& rules) const;
};

}  // namespace superstep
