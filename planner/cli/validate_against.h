// SPDX-License-Identifier: Apache-2.0
// `validate --against SYSTEM`.
#pragma once

#include <string>

#include "planner/cli/options.h"

namespace superstep {

// Prints the comparisons of data/comparisons/SYSTEM.json, with the IPU systems modelled anew. Returns the exit code.
int run_validate_against(const std::string& system, const CommonOptions& common);

}  // namespace superstep
