// SPDX-License-Identifier: Apache-2.0
// The numbers of a machine that can change a plan.
#pragma once

#include <string>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

// Returns JSON pointers to the machine's numbers that a term of the step time reads, and to the numbers that decide if
// a plan fits. Numbers that are 0 or have no effect on this machine are left out.
std::vector<std::string> sensitive_numbers(const Machine& machine);

}  // namespace superstep
