// SPDX-License-Identifier: Apache-2.0
// What lowering asks of an op that is a matrix product on the AMP units.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

struct Convolution;

// The axes of the op's Space that make up each dimension of the product, outermost first.
struct ProductAxes {
  std::vector<int> batch, rows, columns, contracted;
};

// Where a product stands in a program.
struct ProductUse {
  bool backward = false;         // in the backward pass
  bool weight_gradient = false;  // and its result goes into a weight's accumulator
};

struct ProductDef {
  ProductAxes (*axes)(const OpCall&) = nullptr;
  // Operands, a bit each, that are turned before the product, because the contraction does not run along their rows.
  std::uint32_t (*turned)(const OpCall&, ProductUse) = nullptr;
  // The convolution that it is, for these extents of all axes. Null: none, so that parts of the axes above are
  // contiguous boxes of the operands.
  Convolution (*convolution)(const OpCall&, std::span<const std::int64_t> extents) = nullptr;
};

}  // namespace superstep
