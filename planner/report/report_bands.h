// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/make_report.h"

namespace superstep {

// The waterfall's term that is no Term: what the useful rows take beyond the ideal.
inline constexpr const char* kStageImbalance = "stage imbalance";

// How sure the waterfall's terms and the functions' times are, by the worlds that were drawn of the step; none:
// nothing.
void add_bands(report::Index& index, const Evaluated& e, const Tables& tables);

}  // namespace superstep
