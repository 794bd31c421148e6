// SPDX-License-Identifier: Apache-2.0
// Fronts of two measures: plans none of which is better than another in both.
#pragma once

#include <array>
#include <vector>

#include "planner/best_first.h"
#include "planner/make_report.h"

namespace superstep {

// Points of the job's front on its machine, the best of the first measure ahead; `best` is the winner by its goal.
std::vector<Candidate> trace_front(BestFirst& space, const Job& job, const Candidate& best);

// Leaves the plans that no other is better than in one measure and no worse in the other, sorted by the first.
void keep_front(std::vector<Evaluated>& plans, const std::array<Measure, 2>& measures);

}  // namespace superstep
