// SPDX-License-Identifier: Apache-2.0
// A sweep's results as text, CSV, Markdown and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/sweep/sweep.h"
#include "traces/text_table.h"

namespace superstep {

// Returns a table with one line per item: the item's values, and its plan or the reason why there is none. The fastest
// plan is highlighted.
TextTable table_of(const Sweep& sweep, const std::vector<SweepRow>& rows);
std::string to_csv(const Sweep& sweep, const std::vector<SweepRow>& rows);       // RFC 4180, all digits
std::string to_markdown(const Sweep& sweep, const std::vector<SweepRow>& rows);  // same cells as the table
// Returns {"items": [...], "planned", "infeasible", "failed", "best": item}; item_json() returns one element of
// `items`.
nlohmann::json item_json(const SweepRow& row);
nlohmann::json to_json(const std::vector<SweepRow>& rows);

}  // namespace superstep
