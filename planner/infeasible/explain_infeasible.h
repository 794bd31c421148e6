// SPDX-License-Identifier: Apache-2.0
// Why nothing fits.
#pragma once

#include <vector>

#include "planner/search/search.h"

namespace superstep {

// For SearchOptions::explain. Takes the plan that exceeds memory least, says what it exceeds, and looks for the nearest
// fix where the options ask for one.
void explain_infeasible(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells,
                        SearchResult& result);

}  // namespace superstep
