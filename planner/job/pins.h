// SPDX-License-Identifier: Apache-2.0
// Pins of a job's plan as JSON: adds pins to a job, and lists the pins that a plan does not satisfy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/program/plan.h"

namespace superstep {

// Returns the job with further pins in its plan. Each new pin replaces the job's pin of the same field. Fields with
// members (locations, sharding degrees, precision, serialisation) are replaced member by member. New cuts remove the
// job's cuts in any other form.
nlohmann::json with_pins(nlohmann::json job, const nlohmann::json& pins);

// Returns the pins of `pins` that a plan does not satisfy, as "/location/weights". A pin that only the model can judge
// (layers per stage) counts as not satisfied. A pin without effect (a schedule with phases) counts as satisfied.
std::vector<std::string> unsatisfied_pins(const Plan& plan, const nlohmann::json& pins);

}  // namespace superstep
