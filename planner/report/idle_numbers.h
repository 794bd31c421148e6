// SPDX-License-Identifier: Apache-2.0
// Machine numbers of a job that make no difference.
#pragma once

#include <string>
#include <vector>

#include "planner/report/evaluated.h"

namespace superstep {

// Returns JSON pointers to the numbers below machine.override that change nothing of a plan: with half and with twice
// each, its step takes as long, and its memory is as full. Evaluates the plan twice for each number.
std::vector<std::string> idle_numbers(Tables& tables, const Evaluated& e);

}  // namespace superstep
