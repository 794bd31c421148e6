// SPDX-License-Identifier: Apache-2.0
// Fronts of two measures: plans none of which is better than another in both.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/search/best_first.h"
#include "planner/search/front_board.h"

namespace superstep {

// Points of the job's front on its machine, the best of the first measure ahead; `best` is the winner by its goal.
// `board`: where it is a part of a job, which no other part need share; may be null.
std::vector<Candidate> trace_front(BestFirst& space, const Job& job, const Candidate& best, FrontBoard* board = nullptr,
                                   std::size_t part = 0);

}  // namespace superstep
