// SPDX-License-Identifier: Apache-2.0
// Report columns of memory over time.
#pragma once

#include "planner/report/call_list.h"
#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Adds variables with their life in calls, and results with their life in the steps of each function. At each step of a
// call the live variables and results sum to the heat map's tile.memory_bytes, as report.proto says.
void add_memory_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table,
                        const OptimizerSpec& optimizer, const CallList& calls);

}  // namespace superstep
