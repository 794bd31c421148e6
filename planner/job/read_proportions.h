// SPDX-License-Identifier: Apache-2.0
// available_memory_proportion as a job pins it.
#pragma once

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// `r`: of a plan that has the field. Throws Error where it is no value, list or range, for all stages or for each.
void read_proportions(JsonReader& r, Pins& pins);

// Whether each stage has a bound of its own.
bool is_by_stage(const nlohmann::json& pin);

}  // namespace superstep
