// SPDX-License-Identifier: Apache-2.0
// Columns of a report.
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Returns the kind of a step as the column step.kind and ProgramNode.work have it.
std::string_view text_of(StepKind kind);

// Adds the columns that report.proto lists: units, steps by function, heat maps by tile class, variables.
void add_columns(ReportWriter& writer, report::Index& index, const Evaluated& e, const UnitTable& table,
                 const OptimizerSpec& optimizer);

}  // namespace superstep
