// SPDX-License-Identifier: Apache-2.0
// What stands on the tiles of an IPU group all through a phase, and what it keeps in Streaming Memory, by name.
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

// Category by category, the bytes of a variable sum to those of `r`, which residents_of() says for that phase.
std::vector<Variable> resident_variables(const Holdings& h, std::int64_t ipu, std::int64_t phase, const Residents& r);

}  // namespace superstep
