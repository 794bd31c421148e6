// SPDX-License-Identifier: Apache-2.0
// First units of pinned stages, which a job gives as units or as numbers of layers.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

// Returns the first unit of each pinned stage (from stages or layers_per_stage) in this graph; empty: stages are free.
// Throws Error if layers_per_stage does not fit the graph.
std::vector<std::int64_t> pinned_stages(const Job& job, const Graph& graph);

// Prepares bounds on temporary memory by stage: finds the stages of layers_per_stage, and gives a last stage that
// returns to the first IPU the first IPU's bound if the job has a bound for each IPU. Throws Error as pinned_stages().
void resolve_stage_bounds(Job& job);

}  // namespace superstep
