// SPDX-License-Identifier: Apache-2.0
// Does a plan compute the right thing? It is run on numbers, beside the plain model, with a model small enough to be
// run and as many IPUs as that takes: the same fields, and every degree above 1 stays above 1.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/run/run.h"

namespace superstep {

struct ScaledDown {
  nlohmann::json job;                // to be run again with `superstep run`
  std::vector<std::string> changes;  // "layers 96 to 6"
};

// Of an ONNX model the plan alone becomes smaller. `units`: of the job's graph, which the plan's stages cut.
ScaledDown scaled_down(const Job& job, const Plan& plan, std::int64_t units);

struct Verification {
  ScaledDown scaled;
  Plan plan;
  RunOutcome run;
  bool identical() const { return run.compared && !run.failure && run.difference.identical; }
  std::string sentence() const;
};

// Throws Error where the scaled-down job cannot be run: an ONNX model that is too large, or whose batch cannot be cut.
Verification verify(const Job& job, const Plan& plan, std::int64_t units, int threads);
nlohmann::json to_json(const Verification& verification);

}  // namespace superstep
