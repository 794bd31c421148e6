// SPDX-License-Identifier: Apache-2.0
// Report columns of a search.
#pragma once

#include "planner/search/search.h"
#include "traces/report_io.h"

namespace superstep {

// Adds the searched candidates and cells as the candidate.* and cell.* columns that report.proto lists. Adds nothing if
// the search lists no cells.
void add_search_columns(ReportWriter& writer, const SearchResult& search, const Machine& machine);

}  // namespace superstep
