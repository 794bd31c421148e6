// SPDX-License-Identifier: Apache-2.0
// Explanations of a report's numbers: the formula of each waterfall term, and the machine-file rows in the formula.
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Adds explanations of the step time, each waterfall term, memory categories and Streaming Memory.
void add_explanations(report::Index& index, const Evaluated& e, const UnitTable& table);

}  // namespace superstep
