// SPDX-License-Identifier: Apache-2.0
// A plan lowered and timed in full: what every report and every table speaks about.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/overflows.h"
#include "planner/cost/tables.h"
#include "planner/report/uncertainty.h"

namespace superstep {

struct Evaluated {
  Plan plan;
  std::string label;  // of the plan, or what tells it from others that it is listed with
  Program program;
  Timeline timeline;
  double step_seconds = 0;
  double samples_per_second = 0;
  double score = 0;                 // by the job's goal
  double rated_power = 0;           // W, of the IPUs it takes
  double time_to_train = 0;         // seconds, of the job's train_for; 0: it does not say
  double ideal_seconds = 0;         // of a step: model FLOPs over the FP16.16 peak of all IPUs
  double flop_utilisation = 0;      // model FLOPs over the FP16.16 peak of all IPUs
  std::int64_t tile_peak = 0;       // fullest tile
  std::int64_t ddr_per_ipu = 0;     // of the IPU that holds most
  std::string fits;                 // fits, tight, does_not_fit
  std::vector<Overflow> overflows;  // worst first; empty: it fits
  std::vector<std::string> not_validated;
  std::vector<double> worlds;  // step seconds in each; filled by draw_worlds()
};
Evaluated evaluate_in_full(Tables& tables, const Plan& plan);

// Whose step time it is, for uncertainty.h.
Subject subject_of(const Tables& tables, const Evaluated& e);
// Times the program kWorlds times and fills `worlds`.
void draw_worlds(Tables& tables, Evaluated& e);

// Leaves the plans that no other is better than in one measure and no worse in the other, sorted by the first.
void keep_front(std::vector<Evaluated>& plans, const std::array<Measure, 2>& measures);

}  // namespace superstep
