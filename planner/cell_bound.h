// SPDX-License-Identifier: Apache-2.0
// What can be said of a cell of the space before it is opened.
#pragma once

#include "planner/space.h"
#include "planner/tables.h"

namespace superstep {

// Samples per second that no plan of the cell exceeds.
double cell_bound(Tables& tables, const Cell& cell);

// False if no plan of the cell fits. Needs no table.
bool may_hold(Tables& tables, const Cell& cell);

}  // namespace superstep
