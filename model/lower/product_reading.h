// SPDX-License-Identifier: Apache-2.0
// Ways in which the matrix unit (AMP) can read the contraction of a product: plain, or by the window of a convolution.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/lower/product_plan.h"
#include "model/machine/machine.h"
#include "model/ops/amp_window_vertex.h"

namespace superstep {

// A way to read the contraction.
struct Reading {
  std::int64_t blocks = 1, depth = 16;   // weight blocks along the contraction, and elements that each block contracts
  double received = 1;                   // elements of the inputs that are received, over rows x blocks x depth
  double copied = 0;                     // elements copied on the tile before the product, over rows x blocks x depth
  std::optional<AmpWindow> window = {};  // the window that the unit slides over its operand; none: plain rows
};

// Returns the reading of rows of the operand as they lie.
Reading plain_reading(const ProductShape& shape, const Chip& chip);

// Returns all readings that may be best. For each way to slide a window, only the reading with the fewest weight blocks
// is returned. `in_parts`: the product runs in parts of its contraction. Such parts may cut a window anywhere, so all
// places of the window are copied beside each other first.
std::vector<Reading> readings(const ProductShape& shape, const Chip& chip, bool in_parts);

}  // namespace superstep
