// SPDX-License-Identifier: Apache-2.0
// The named variables behind Residents: tensors and code on the tiles of an IPU group all through a phase.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/lower/holdings.h"

namespace superstep {

struct Variable {
  std::string name;
  std::string_view category;  // as in a report: weights, gradients, vertex code, ...
  Bytes bytes;                // per tile, of the fullest tile
};

// Returns all variables of an IPU group in a phase. `r` must be the entry of residents_of() for the phase. In each
// category the bytes of the variables sum to the bytes in `r`.
std::vector<Variable> resident_variables(const Holdings& h, std::int64_t ipu, std::int64_t phase, const Residents& r);

}  // namespace superstep
