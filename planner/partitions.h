// SPDX-License-Identifier: Apache-2.0
// Fewer IPUs than the machine has: jobs on its partitions.
#pragma once

#include <vector>

#include "planner/search.h"

namespace superstep {

// The job on each partition that its limits allow, the largest first; just the job where it has no limits.ipus and its
// front is of neither IPUs nor power. Sizes are divisors of the machine's IPUs that are legal partitions and leave a
// legal cell; where none does, the largest is given, whose search says why.
std::vector<Job> on_partitions(const Job& job);

// What was searched on both.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

}  // namespace superstep
