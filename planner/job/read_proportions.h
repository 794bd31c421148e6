// SPDX-License-Identifier: Apache-2.0
// available_memory_proportion as a job pins it.
#pragma once

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// `r`: of a plan that has the field. Throws Error where it is no value, list or range, for all work or for kinds of it.
void read_proportions(JsonReader& r, Pins& pins);

// Whether kinds of work have bounds of their own; else there is one for all.
bool is_by_work(const nlohmann::json& pin);

// Whether each stage has a bound of its own.
bool is_by_stage(const nlohmann::json& pin);

}  // namespace superstep
