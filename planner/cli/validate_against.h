// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/cli/options.h"

namespace superstep {

// `validate --against SYSTEM`: what data/comparisons/SYSTEM.json lists, modelled now.
int run_validate_against(const std::string& system, const CommonOptions& common);

}  // namespace superstep
