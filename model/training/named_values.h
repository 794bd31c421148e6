// SPDX-License-Identifier: Apache-2.0
// Values by the names of their tensors: the graph of a micro-batch and that of the global batch differ in ids and in
// ops, but not in what inputs, weights and optimizer states are called.
#pragma once

#include <map>
#include <string>

#include "model/graph/tensor.h"

namespace superstep {

using NamedValues = std::map<std::string, Array>;

}  // namespace superstep
