// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/report/evaluated.h"

namespace superstep {

// Evaluates the plan that the job pins in full, with defaults for what it does not pin, also when it does not fit.
// Throws Error when it is not legal.
Evaluated evaluate_pinned(Tables& tables, int threads);

}  // namespace superstep
