// SPDX-License-Identifier: Apache-2.0
// What a job looks for, and within which limits: objective, train_for, pareto, limits.
#pragma once

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// After the model and the machine were read. Throws Error with file and JSON pointer.
void read_question(JsonReader& job, Job& out);

}  // namespace superstep
