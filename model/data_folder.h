// SPDX-License-Identifier: Apache-2.0
// The folder of data, and the machines in it.
#pragma once

#include <string>
#include <vector>

namespace superstep {

// Returns the names of all machines in data/machines, in the order in which lists show machines (order.txt).
std::vector<std::string> machine_names();

// Returns the folder that holds machines/, jobs/ and other data: $SUPERSTEP_DATA if set, else the folder beside the
// executable, else the folder in the source tree of the build. Throws Error if $SUPERSTEP_DATA has no folder machines.
std::string data_folder();

}  // namespace superstep
