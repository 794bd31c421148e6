// SPDX-License-Identifier: Apache-2.0
// Convolution over one to three spatial dimensions and its two gradients:
//   conv(x, w)                [n, C, x...] by [O, C / groups, k...] to [n, O, y...]
//   conv_weight_grad(x, dy)   to [O, C / groups, k...]
//   conv_input_grad(dy, w)    to [n, C, x...]
//
// Axes of all three, in order: n; g (groups); o (result channels of a group); c (operand channels of a
// group); y0, ... positions; k0, ... window. Of conv_input_grad a step of y is `stride` positions of x.
// Groups are split, or, where there is one, its channels. Positions follow y * stride + k * dilation - pad.
#pragma once

#include <optional>

#include "model/graph/op_def.h"
#include "model/ops/depthwise_vertex.h"
#include "model/ops/matmul.h"

namespace superstep {

// The matrix product that the convolution is on the matrix unit; batch: groups.
MatmulDims conv_product(const OpCall& call);

// The window that one row of the product reads of one channel of the spatial operand, for the given extents of all
// axes: its places along its outermost dimension, and along all others. Rows of the gradient of the operand are steps
// of `stride` places, which read it together.
struct ConvWindow {
  std::int64_t channels = 1;  // contracted with it
  bool slides = true;         // false: of a gradient of weights, which contracts positions
  std::int64_t rows = 1, columns = 1;
  std::int64_t new_rows = 1, new_columns = 1;  // of these, those that no row before it has read
  std::int64_t line = 1;                       // results that lie in a row
  std::int64_t places() const { return rows * columns; }
  std::int64_t new_places() const { return new_rows * new_columns; }
  // Whether channels would have to be padded for each place of the window to fill blocks of `depth`.
  bool fills_badly(std::int64_t depth) const { return slides && places() > 1 && channels % depth != 0; }
  friend auto operator<=>(const ConvWindow&, const ConvWindow&) = default;
};
ConvWindow conv_window(const OpCall& call, std::span<const std::int64_t> extents);

// The convolution that it is where channels share nothing, for the given extents of all axes; none where they do. That
// of the weights has the window for its results, and the positions for its window.
struct DepthwiseConv {
  DepthwiseShare share;
  std::int64_t read = 1;         // elements of the spatial operand, per channel
  bool weight_gradient = false;  // slides positions
  friend auto operator<=>(const DepthwiseConv&, const DepthwiseConv&) = default;
};
std::optional<DepthwiseConv> depthwise_conv(const OpCall& call, std::span<const std::int64_t> extents);

// What a product is of a convolution.
struct Convolution {
  ConvWindow window;
  std::optional<DepthwiseConv> depthwise = {};
};

}  // namespace superstep
