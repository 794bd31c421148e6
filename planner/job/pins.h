// SPDX-License-Identifier: Apache-2.0
// Pins of a job's plan as JSON: adding some, and asking which of them a plan has.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/lower/plan.h"

namespace superstep {

// Returns the job with further pins in its plan: each takes the place of the job's pin of that field; locations,
// sharding degrees, precisions and serialisation member by member. Cuts that the job pins in another form go.
nlohmann::json with_pins(nlohmann::json job, const nlohmann::json& pins);

// Returns the pins of `pins` that a plan does not have, as "/location/weights". Forms that only a model can tell
// (layers per stage) count as not had; a field without effect (a schedule with phases) counts as had.
std::vector<std::string> pins_not_had(const Plan& plan, const nlohmann::json& pins);

}  // namespace superstep
