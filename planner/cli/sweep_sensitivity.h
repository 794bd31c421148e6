// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/cli/options.h"

namespace superstep {

// Which numbers of the machine the job's result depends on, and where another plan wins. 1 where the job has no plan.
int run_sensitivity(const std::string& job, double time_limit, const CommonOptions& common);

}  // namespace superstep
