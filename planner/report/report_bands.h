// SPDX-License-Identifier: Apache-2.0
// Error bands of a report.
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Adds error bands of the waterfall's terms and of the functions' times, from the worlds drawn for the step. Adds
// nothing if no worlds were drawn.
void add_bands(report::Index& index, const Evaluated& e, const Tables& tables);

}  // namespace superstep
