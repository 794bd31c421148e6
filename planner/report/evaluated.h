// SPDX-License-Identifier: Apache-2.0
// A plan lowered and timed in full. All reports and tables describe such plans.
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
  std::string label;  // of the plan; in a list of plans, extended to be distinct
  Program program;
  Timeline timeline;
  double step_seconds = 0;
  double samples_per_second = 0;
  double score = 0;                   // by the job's goal; the higher, the better
  double rated_power = 0;             // watts, of the machine or partition that the plan runs on
  double time_to_train = 0;           // seconds, for the job's train_for; 0: the job has none
  double ideal_seconds = 0;           // seconds of a step: model FLOPs over the FP16.16 peak of all IPUs
  double flop_utilisation = 0;        // achieved FLOP/s over the FP16.16 peak of all IPUs
  std::int64_t tile_peak = 0;         // bytes on the fullest tile
  std::int64_t tile_peak_band = 0;    // half of the 95 % band of tile_peak, in bytes
  std::int64_t ddr_per_ipu = 0;       // bytes of Streaming Memory, on the IPU that holds most
  std::string fits;                   // fits, tight, does_not_fit
  double fit_probability = 0;         // of fitting in the tiles (model/cost/fit_probability.h)
  std::vector<Overflow> overflows;    // worst first; empty: the plan fits
  std::vector<Mechanism> unmeasured;  // mechanisms of the plan that no measured point covers
  std::vector<double> worlds;         // step seconds in each world; filled by draw_worlds()

  std::vector<std::string> not_validated() const;  // the names of `unmeasured`
};
// Lowers and times a plan. A plan that does not fit is evaluated too.
Evaluated evaluate_in_full(Tables& tables, const Plan& plan);

// Returns the subject whose residual error is drawn for the plan's step time; see uncertainty.h.
Subject subject_of(const Tables& tables, const Evaluated& e);
// Times the program in kWorlds worlds and fills `worlds`.
void draw_worlds(Tables& tables, Evaluated& e);

// Returns the probability that the first of two plans with drawn worlds has the higher score. Step times of different
// batches are not comparable, scores are.
double probability_better(const Goal& goal, const Evaluated& first, const Evaluated& second);

// Keeps the plans that no other plan dominates in the two measures, and sorts them by the first measure, best first.
void keep_front(std::vector<Evaluated>& plans, const std::array<Measure, 2>& measures);

}  // namespace superstep
