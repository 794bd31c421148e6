// SPDX-License-Identifier: Apache-2.0
// The steps of a search as text, for `superstep plan --trace-search`.
#pragma once

#include <string>
#include <vector>

#include "planner/search/search_result.h"
#include "traces/text_table.h"

namespace superstep {

// Returns a table with a row for each step. A line stands where the best plan is proved, and where the search goes on
// to another partition.
std::string trace_text(const std::vector<SearchStep>& steps, const TextStyle& style);

}  // namespace superstep
