// SPDX-License-Identifier: Apache-2.0
// Results of a sweep for people and programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/sweep/sweep.h"
#include "traces/text_table.h"

namespace superstep {

// A line per item: its values, and its plan or why there is none. The fastest stands out.
TextTable table_of(const Sweep& sweep, const std::vector<SweepRow>& rows);
std::string to_csv(const Sweep& sweep, const std::vector<SweepRow>& rows);       // RFC 4180, all digits
std::string to_markdown(const Sweep& sweep, const std::vector<SweepRow>& rows);  // the cells of the table
// {"items": [...], "planned", "infeasible", "failed", "best": item}
nlohmann::json item_json(const SweepRow& row);  // an element of `items`
nlohmann::json to_json(const std::vector<SweepRow>& rows);

}  // namespace superstep
