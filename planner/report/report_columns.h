// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// As in the column step.kind and in ProgramNode.work.
std::string_view text_of(StepKind kind);

// The columns that report.proto lists: units, steps by function, heat maps by tile class, variables.
void add_columns(ReportWriter& writer, report::Index& index, const Evaluated& e, const UnitTable& table,
                 const OptimizerSpec& optimizer);

}  // namespace superstep
