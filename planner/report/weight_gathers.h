// SPDX-License-Identifier: Apache-2.0
// Does tensor parallelism move weights to activations, or activations to weights? Said in words for a plan.
#pragma once

#include <string>

#include "planner/cost/tables.h"

namespace superstep {

// "24 weights are gathered for each use ...", with the bytes of either way per micro-batch and IPU, or why they are not
// although that would take less time; empty: joining activations takes least time, or there is nothing to split.
std::string weight_gathers_note(Tables& tables, const Plan& plan, int threads = 1);

}  // namespace superstep
