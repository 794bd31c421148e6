// SPDX-License-Identifier: Apache-2.0
// A plan as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/program/plan.h"

namespace superstep {

// Returns a plan's fields, or a proportion alone, in the form in which a job pins them.
nlohmann::json to_json(const Plan& plan);
nlohmann::json to_json(const Proportion& proportion);

}  // namespace superstep
