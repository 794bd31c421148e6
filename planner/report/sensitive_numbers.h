// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

// Returns JSON pointers of the machine's numbers that any term of the step time reads, and of those that decide what
// fits; none that is 0 or has no effect on this machine.
std::vector<std::string> sensitive_numbers(const Machine& machine);

}  // namespace superstep
