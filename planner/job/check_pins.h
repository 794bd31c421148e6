// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/job/job.h"

namespace superstep {

// Refuses pins that no plan for a model of so many units on the job's machine can honour: throws Error
// with the pin's JSON pointer, what was found and what was expected.
void check_pins(const Job& job, std::int64_t units);

}  // namespace superstep
