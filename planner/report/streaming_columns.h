// SPDX-License-Identifier: Apache-2.0
// Report columns of Streaming Memory.
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// Adds the contents of Streaming Memory and the traffic to and from it, for each stretch of the step.
void add_streaming_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table);

}  // namespace superstep
