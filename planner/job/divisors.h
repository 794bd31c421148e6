// SPDX-License-Identifier: Apache-2.0
// Divisors of an integer: the degrees and partition sizes that a count allows.
#pragma once

#include <cstdint>
#include <vector>

namespace superstep {

// Returns the divisors of n > 0, ascending.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace superstep
