// SPDX-License-Identifier: Apache-2.0
// Comparison of what the model says of memory with plans that ran and plans that ran out of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/validate/validate.h"

namespace superstep {

struct JudgedCase {
  MemoryCase given;
  std::string failure;       // why the job could not be estimated; empty: the fields below are set
  bool unsupported = false;  // the failure is an unsupported op, not bad input
  std::string model, machine, plan;
  std::int64_t tile_peak = 0, tile_limit = 0;  // bytes
  double fit_probability = 0;
  std::string overflow;  // the memory that is exceeded most; empty: the plan fits

  bool is_right() const { return failure.empty() && overflow.empty() == given.ran; }
};

// Estimates the job of every case, in the order given. A job that cannot be estimated is a failure of its case alone.
std::vector<JudgedCase> judge_memory(const std::vector<MemoryCase>& cases, const ValidateOptions& options);

// Returns the mean of the squared differences between the probability to fit and what happened: 0 is best, 0.25 is what
// one half everywhere gives. Cases that could not be estimated do not count; NaN for no cases.
double brier_score(const std::vector<JudgedCase>& cases);

}  // namespace superstep
