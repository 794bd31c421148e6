// SPDX-License-Identifier: Apache-2.0
// Why nothing fits.
#pragma once

#include <vector>

#include "planner/cuts/pinned_cuts.h"
#include "planner/search/search.h"
#include "planner/space/space.h"

namespace superstep {

// In the place of an overflow, where a search stopped before it found a plan.
Overflow stopped_early();

// Fills what a result without a plan says: `closest`, what it runs into, and the nearest fix where the options ask for
// one. `cells`: from the most promising; the search that found nothing is over.
void explain_infeasible(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells, PinnedCuts& cuts,
                        SearchResult& result);

}  // namespace superstep
