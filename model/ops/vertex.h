// SPDX-License-Identifier: Apache-2.0
// Tile cycles of vertex loops: six workers share a block, and a tile cycle is a worker slot of
// each, so a vertex takes launch + workers * (cycles of the slowest worker).
// Source of the loop forms and of the constants in the op files: facts/hardware.md section 3
// (poplibs estimators), unless a comment says otherwise.
#pragma once

#include <cstdint>

#include "model/graph/op_def.h"

namespace superstep::ops {

// Elements of a type that one 64-bit load brings: 4 halves, 2 floats.
std::int64_t lanes(DType type);

// Worker cycles of a loop: per vertex, and per 64 bits for halves and for floats (and wider).
struct LoopCost {
  std::int64_t setup = 0;
  std::int64_t half = 0;
  std::int64_t single = 0;
  std::int64_t per_vector(DType type) const { return lanes(type) >= 4 ? half : single; }
};

// A loop over `elements` that lie in one run, shared evenly.
Cycles flat_loop(const TileCosts& costs, std::int64_t elements, DType type, const LoopCost& cost);

// A loop over `rows` runs of `columns` elements with `per_row` cycles at the start of each. Rows may be
// cut among workers at vectors.
Cycles row_loop(const TileCosts& costs, std::int64_t rows, std::int64_t columns, std::int64_t per_row, DType type,
                const LoopCost& cost);

// Whether a matrix is turned in grains of 4 x 4 halves or 2 x 2 floats: both extents must be multiples (poplibs,
// Rearrange: other matrices go element by element).
bool turns_in_grains(std::int64_t rows, std::int64_t columns, DType type);
// Tile cycles of moving one element by itself (hardware.md section 3, packing by an index: measured on a C600).
inline constexpr std::int64_t kElementMove = 10;

// Moving elements without changing them: 64 bits per load-store pair.
Cycles copy_loop(const TileCosts& costs, std::int64_t rows, std::int64_t columns, DType type);

// The part of `extents` along the last axis, and the product of the others.
struct Rows {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
Rows rows_of(std::span<const std::int64_t> extents);

}  // namespace superstep::ops
