// SPDX-License-Identifier: Apache-2.0
// Where the samples lie in a tensor or in the space of an op.
#pragma once

#include <compare>
#include <cstdint>

namespace superstep {

// A dimension or an axis that holds the samples. Its element (o * samples + s) * inner + i, o < outer, belongs to
// sample s.
struct SamplePlace {
  int at = 0;  // number of the dimension or axis
  std::int64_t outer = 1;
  friend auto operator<=>(const SamplePlace&, const SamplePlace&) = default;
};

}  // namespace superstep
