// SPDX-License-Identifier: Apache-2.0
// Pareto fronts of two measures: plans that do not dominate each other.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/search/best_first.h"
#include "planner/search/front_board.h"

namespace superstep {

// Returns the points of the job's front on its machine. The first point is the best of the measure that is not
// memory, IPUs or power; of rate against latency, the best rate. `best`: the best plan by the job's goal. `board`:
// exchanges points with the other parts of a job, `part` being the number of this part; null: nothing is exchanged.
std::vector<Candidate> trace_front(BestFirst& space, const Job& job, const Candidate& best, FrontBoard* board = nullptr,
                                   std::size_t part = 0);

}  // namespace superstep
