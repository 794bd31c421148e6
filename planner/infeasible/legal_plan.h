// SPDX-License-Identifier: Apache-2.0
// Whether the pins of a job leave a legal plan, which need not fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cost/tables.h"
#include "planner/space/space.h"

namespace superstep {

// Returns up to two plans of a space, without cuts, both with the least temporary memory. The first has as much data as
// possible sharded and in Streaming Memory. The second is the first legal setting.
std::vector<Plan> leanest(const SettingSpace& space, const Chip& chip);

// Returns the first plan of these cells that is found to be legal; nullopt: none. Cuts that the job does not pin are
// arbitrary. Throws Error if pins exclude each other (check_pins()). `defaults`: only pinned fields vary.
std::optional<Plan> legal_plan(Tables& tables, const std::vector<Cell>& cells, bool defaults);

// Returns why a cell has no legal plan, by the plan that has all pins with one value; empty: that plan is legal.
std::string why_not_legal(Tables& tables, const Cell& cell);

}  // namespace superstep
