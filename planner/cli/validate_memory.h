// SPDX-License-Identifier: Apache-2.0
// `validate --memory`: plans that ran and plans that ran out of memory beside what the model says.
#pragma once

#include <string>
#include <vector>

#include "planner/cli/options.h"

namespace superstep {

int run_validate_memory(const std::vector<std::string>& paths, const CommonOptions& common);

}  // namespace superstep
