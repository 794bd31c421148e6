// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// How sure the waterfall's terms and the functions' times are, by the worlds that were drawn of the step; none:
// nothing.
void add_bands(report::Index& index, const Evaluated& e, const Tables& tables);

}  // namespace superstep
