// SPDX-License-Identifier: Apache-2.0
// A job as several, each searched by itself: fewer IPUs than the machine has, and fields that are one value in all of a
// search's tables.
#pragma once

#include <vector>

#include "planner/job/job.h"

namespace superstep {

// Returns one job for each choice of
// * one of the partition_sizes();
// * a value of each list in plan.precision and plan.serialisation, and of each list of cuts, the last list changing
//   first; of a range in plan.serialisation those that cut the model's products into equal parts, or else the least.
//   Cuts whose lengths differ are left out if others are left.
// Those without a legal cell are left out; where all are, the first is given, whose search says why.
std::vector<Job> job_parts(const Job& job);

}  // namespace superstep
