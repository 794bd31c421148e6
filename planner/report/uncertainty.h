// SPDX-License-Identifier: Apache-2.0
// How sure a step time is: the same program timed in many worlds. What is uncertain differs between them together, for
// every plan in the same way, so that what two plans have in common cancels when they are compared.
#pragma once

#include <string>
#include <vector>

#include "model/cost/cost.h"

namespace superstep {

constexpr int kWorlds = 200;

// Whose residual error it is: half of its variance is common to all plans of one model.
struct Subject {
  std::string model, plan;
  bool validated = true;  // all its mechanisms are covered by measured points
};

// Seconds of a step in world 0, 1, ... kWorlds - 1: fitted constants as the calibration knows them, machine numbers
// whose source is an estimate or a memory, and what the model leaves unexplained.
std::vector<double> step_seconds_in_worlds(const Program& program, const CostModel& model, const Subject& subject);

// The parts of a step in the same worlds. What the model leaves unexplained goes over all of them by their time.
struct PartsInWorlds {
  std::vector<std::vector<double>> terms;      // seconds of a step by Term, world by world
  std::vector<std::vector<double>> functions;  // seconds of one run of each function of the program
};
PartsInWorlds parts_in_worlds(const Program& program, const CostModel& model, const Subject& subject);

}  // namespace superstep
