// SPDX-License-Identifier: Apache-2.0
// Why a search found no plan: the plan that exceeds memory least, and the nearest fix.
#pragma once

#include <vector>

#include "planner/search/search.h"

namespace superstep {

// Fills `result` after a search without a plan; callers set this function as SearchOptions::explain. Takes the plan
// that exceeds memory least and lists its overflows. Looks for the nearest fix if the options ask for a fix.
void explain_infeasible(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells,
                        SearchResult& result);

}  // namespace superstep
