// SPDX-License-Identifier: Apache-2.0
// A large weight's gradient is made and accumulated in slices that fit the bound on temporary memory.
#pragma once

#include <cstdint>

#include "model/lower/lower_unit.h"

namespace superstep {

// Of a weight's gradient `t`, where no number of them is forced.
CapParts gradient_slices(const UnitContext& context, TensorId t, Bytes cap);

// Of several bounds on temporary memory: the number of slices that takes least, and the cap of their tile plan.
// `product`: of the whole gradient; `caps`: those that its slices depend on; `cap`: the loosest of a slice's tile plan.
struct QuickestSlices {
  std::int64_t slices = 1;
  Bytes cap;
  std::int64_t fewest = 1, most = 1;  // that the bounds ask for; most is 0: too many to be looked at one by one
};
QuickestSlices quickest_slices(const UnitContext& context, TensorId t, const ProductShape& product,
                               const CapRange& caps, Bytes cap);

}  // namespace superstep
