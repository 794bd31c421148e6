// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/search/search.h"
#include "traces/report_io.h"

namespace superstep {

// What was searched, as the candidate.* and cell.* columns that report.proto lists.
void add_search_columns(ReportWriter& writer, const SearchResult& search, const Machine& machine);

}  // namespace superstep
