// SPDX-License-Identifier: Apache-2.0
// How the matrix unit reads the contraction of a product.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/lower/tile_plan.h"
#include "model/ops/amp_window_vertex.h"

namespace superstep {

// As rows of operands that lie so or were copied so, or by a window.
struct Reading {
  std::int64_t blocks = 1, depth = 16;  // of weights along the contraction, and what each contracts
  double received = 1;                  // inputs received over rows x blocks x depth
  double copied = 0;                    // elements written on the tile before, over the same
  std::optional<AmpWindow> window = {};
};

Reading plain_reading(const ProductShape& shape, const Chip& chip);

// All ways to read a contraction that may be best, by the number of its weight blocks. A contraction in parts, one
// after the other, is cut anywhere, so that its window is copied.
std::vector<Reading> readings(const ProductShape& shape, const Chip& chip, bool in_parts);

}  // namespace superstep
