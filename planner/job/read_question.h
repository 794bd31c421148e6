// SPDX-License-Identifier: Apache-2.0
// Reader of a job's goal and limits: objective, train_for, pareto, limits.
#pragma once

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// Reads the goal and limits into `out`, whose model and machine have been read. Throws Error with file and JSON
// pointer.
void read_question(JsonReader& job, Job& out);

}  // namespace superstep
