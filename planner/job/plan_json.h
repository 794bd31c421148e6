// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/lower/plan.h"

namespace superstep {

// Returns the fields of a plan as a job pins them.
nlohmann::json to_json(const Plan& plan);
nlohmann::json to_json(const Proportion& proportion);

}  // namespace superstep
