// SPDX-License-Identifier: Apache-2.0
// The rules of the declared space a second time, written independently: which degrees divide what, which places and
// shardings go together, which fields have no effect. Nothing is listed.
#pragma once

#include "planner/space/space_count.h"

namespace superstep::test {

// Counts what count_space() counts. `graph`: the job's, for any micro-batch; `statistics_group`: as for cells().
SpaceCount count_by_rules(const Job& job, const Graph& graph, std::int64_t statistics_group = 0);

}  // namespace superstep::test
