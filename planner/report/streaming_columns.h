// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// What lies in Streaming Memory and what moves there and back, stretch by stretch of the step.
void add_streaming_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table);

}  // namespace superstep
