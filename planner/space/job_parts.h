// SPDX-License-Identifier: Apache-2.0
// The division of a job into parts, each searched by itself. There is a part for each partition of the machine and for
// each value of the fields that all tables of a search share.
#pragma once

#include <vector>

#include "planner/job/job.h"

namespace superstep {

// Returns the parts of a job: one job for each choice of
// * one of the software that the job names, or of the usual ones. Software that accepts nothing more than another one
// of
//   them is left out, as its plans are among those of the other;
// * one of the partition_sizes();
// * a value of each list in plan.precision and plan.serialisation, and of each list of cuts, the last list changing
//   first. A range in plan.serialisation stands for the factors that cut the model's products into equal parts; if
//   there are none, for its least factor. Cuts that differ in length are left out, unless all do.
// Parts without a legal cell are left out. If no part has a legal cell, returns the first part, whose search says why.
// Throws Error if weights and activations have no type in common.
std::vector<Job> job_parts(const Job& job);

}  // namespace superstep
