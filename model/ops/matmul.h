// SPDX-License-Identifier: Apache-2.0
// matmul(a, b) over the last two dimensions, leading dimensions broadcasting as in NumPy.
//
// Axes, in order: b0, b1, ... leading dimensions that both operands have; m0, m1, ... those of `a`
// alone; n0, n1, ... those of `b` alone; then m, n, and k (contracted).
#pragma once

#include "model/ops/product_def.h"

namespace superstep {

// The product as the matrix unit sees it: `batch` independent products of rows x contracted by
// contracted x columns.
struct MatmulDims {
  std::int64_t batch = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t contracted = 1;
  friend bool operator==(const MatmulDims&, const MatmulDims&) = default;
};
MatmulDims matmul_dims(const OpCall& call);

// Tile cycles of one vertex call: `groups` products of rows x contracted by contracted x columns.
// Source: facts/cost-study.md section 4.1, facts/hardware.md sections 2.2 and 2.3.
Cycles matrix_unit_cycles(const TileCosts& costs, DType type, const MatmulDims& share);

}  // namespace superstep
