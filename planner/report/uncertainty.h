// SPDX-License-Identifier: Apache-2.0
// Uncertainty of a step time: the same program is timed in many random worlds. A world draws all uncertain numbers
// anew, with the same draws for every plan. So deviations that two plans share cancel in a comparison.
#pragma once

#include <string>
#include <vector>

#include "model/cost/cost.h"
#include "model/software/evidence.h"

namespace superstep {

constexpr int kWorlds = 200;

// The subject of a residual error. Half of the error's variance is common to all plans of one model.
struct Subject {
  std::string model, plan;
  std::vector<Mechanism> unmeasured = {};  // mechanisms of the plan that no measured point covers
};

// Returns the seconds of a step in worlds 0 to kWorlds - 1. Three sources vary: fitted constants with their calibrated
// uncertainty, machine numbers that are estimated or recalled, and a residual that the model does not explain: of what
// was measured, and of each mechanism that was not.
std::vector<double> step_seconds_in_worlds(const Program& program, const CostModel& model, const Subject& subject);

// Parts of a step in each world. The residual is spread over all parts in proportion to their times.
struct PartsInWorlds {
  std::vector<std::vector<double>> terms;      // seconds of a step, by Term and world
  std::vector<std::vector<double>> functions;  // seconds of one run, by function of the program and world
};
PartsInWorlds parts_in_worlds(const Program& program, const CostModel& model, const Subject& subject);

}  // namespace superstep
