// SPDX-License-Identifier: Apache-2.0
// A job as several, each searched by itself: fewer IPUs than the machine has, and fields that are one value in all of a
// search's tables.
#pragma once

#include <vector>

#include "planner/search.h"

namespace superstep {

// One job for each choice of
// * a partition that the job's limits allow, the largest first; only the machine itself where it has no limits.ipus and
//   its front is of neither IPUs nor power. Sizes are divisors of the machine's IPUs that are legal partitions;
// * a value of each list in plan.precision and plan.serialisation, the last list changing first.
// Those without a legal cell are left out; where all are, the first is given, whose search says why.
std::vector<Job> job_parts(const Job& job);

// What the parts differ in, as further fields of the space.
std::vector<SpaceField> fields_of_parts(const Job& job, const std::vector<Job>& parts);

// What was searched of two parts.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

}  // namespace superstep
