// SPDX-License-Identifier: Apache-2.0
// Check of a job's pins against its model and machine.
#pragma once

#include "model/error.h"
#include "planner/job/job.h"

namespace superstep {

// Pins that together leave no legal plan.
struct IllegalPins : Error {
  using Error::Error;
};

// Refuses pins that no plan can honour on the job's machine for a model of `units` units. Throws IllegalPins with the
// pin's JSON pointer, the value found and the values expected.
void check_pins(const Job& job, std::int64_t units);

}  // namespace superstep
