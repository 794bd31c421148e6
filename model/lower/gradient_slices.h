// SPDX-License-Identifier: Apache-2.0
// Number of slices in which the gradient of a large weight is made and accumulated, so that a slice fits the bound on
// temporary memory.
#pragma once

#include <cstdint>

#include "model/lower/unit_context.h"

namespace superstep {

// Returns the number of slices of a weight's gradient `t`, for gradients whose number the plan does not fix
// (Plan::serialisation). Twice the bytes per tile of a slice are at most `cap`, unless slices would become narrower
// than four weight blocks.
CapParts gradient_slices(const UnitContext& context, TensorId t, Bytes cap);

// The fastest number of slices for a range of bounds on temporary memory.
struct QuickestSlices {
  std::int64_t slices = 1;
  Bytes cap;  // bound on the temporary memory of a slice's tile plan
  // Range of the numbers that the bounds ask for. `most` is 0: too many numbers to try. `slices` is then 1 without a
  // bound, which takes no longer than any of these numbers.
  std::int64_t fewest = 1, most = 1;
};
// Returns the fastest number of slices of gradient `t` for the bounds `caps`. `product` is the product that makes the
// whole gradient, `cap` the loosest bound for the tile plan of a slice.
QuickestSlices quickest_slices(const UnitContext& context, TensorId t, const ProductShape& product,
                               const CapRange& caps, Bytes cap);

}  // namespace superstep
