// SPDX-License-Identifier: Apache-2.0
// Verification that a plan computes correct results: the plan runs on real numbers, beside the plain model. Model and
// machine are scaled down until a run is feasible. All plan fields are kept, and every degree above 1 stays above 1.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/run/run.h"

namespace superstep {

struct ScaledDown {
  nlohmann::json job;                // can be run again with `superstep run`
  std::vector<std::string> changes;  // "layers 96 to 6"
};

// Returns the job with model, machine and plan scaled down; for an ONNX model only the plan and machine. `units` is the
// number of units of the job's graph, which the plan's stages cut.
ScaledDown scaled_down(const Job& job, const Plan& plan, std::int64_t units);

struct Verification {
  ScaledDown scaled;
  Plan plan;
  RunOutcome run;
  bool identical() const { return run.compared && !run.failure && run.difference.identical; }
  std::string sentence() const;
};

// Scales the job down and runs the result. Throws Error if the scaled-down job cannot be run: an ONNX model is too
// large, or its batch cannot be divided.
Verification verify(const Job& job, const Plan& plan, std::int64_t units, int threads);
nlohmann::json to_json(const Verification& verification);

}  // namespace superstep
