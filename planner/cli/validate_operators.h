// SPDX-License-Identifier: Apache-2.0
// `validate --operators`: single operators beside their known figures.
#pragma once

#include <string>
#include <vector>

#include "planner/cli/options.h"

namespace superstep {

int run_validate_operators(const std::vector<std::string>& paths, const CommonOptions& common);

}  // namespace superstep
