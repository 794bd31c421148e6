// SPDX-License-Identifier: Apache-2.0
// Reader of available_memory_proportion, as a job pins the field.
#pragma once

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// Reads the pin from `r`, a plan that has the field. The pin is a value, a list or a range for all stages, or one bound
// per stage. Throws Error for anything else.
void read_proportions(JsonReader& r, Pins& pins);

// True if the pin gives each stage its own bound.
bool is_by_stage(const nlohmann::json& pin);

}  // namespace superstep
