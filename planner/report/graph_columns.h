// SPDX-License-Identifier: Apache-2.0
// Report columns of the model graph.
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Adds the model graph as the unit.* and edge.* columns that report.proto lists.
void add_graph_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table);

}  // namespace superstep
