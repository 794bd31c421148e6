// SPDX-License-Identifier: Apache-2.0
// Evaluation of the one plan that a job pins.
#pragma once

#include "planner/report/evaluated.h"

namespace superstep {

// Evaluates the plan that the job pins, with defaults for fields that are not pinned. A plan that does not fit is
// evaluated too. Throws Error if the plan is not legal.
Evaluated evaluate_pinned(Tables& tables, int threads);

}  // namespace superstep
