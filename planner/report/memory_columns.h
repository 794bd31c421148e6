// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/call_list.h"
#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// What is live when: variables over calls, and results over the steps of each function. At each step of a call they
// sum to the heat map's tile.memory_bytes, as report.proto says.
void add_memory_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table,
                        const OptimizerSpec& optimizer, const CallList& calls);

}  // namespace superstep
