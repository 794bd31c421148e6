// SPDX-License-Identifier: Apache-2.0
// `sweep --sensitivity JOB.json`.
#pragma once

#include <string>

#include "planner/cli/options.h"

namespace superstep {

// Prints how much the job's result depends on each number of the machine, and where another plan wins. Returns the exit
// code: kFailed if the job has no plan.
int run_sensitivity(const std::string& job, double time_limit, const CommonOptions& common);

}  // namespace superstep
