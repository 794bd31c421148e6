// SPDX-License-Identifier: Apache-2.0
// A note on tensor parallelism: whether weights are gathered or activations joined.
#pragma once

#include <string>

#include "planner/cost/tables.h"

namespace superstep {

// Returns "24 weights are gathered for each use ...", with the bytes of both alternatives per micro-batch and IPU. If a
// memory limit rules out gathering that would be faster, the text says so. Empty: joining activations takes the least
// time, or nothing is split.
std::string weight_gathers_note(Tables& tables, const Plan& plan, int threads = 1);

}  // namespace superstep
