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
#include <vector>

#include "model/ops/depthwise_vertex.h"
#include "model/ops/matmul.h"
#include "model/ops/op.h"

namespace superstep {

// The matrix product that the convolution is on the matrix unit.
struct ConvDims {
  MatmulDims product;                // batch: groups
  std::vector<std::int64_t> window;  // per spatial dimension
  std::vector<std::int64_t> stride;
  // Elements of the spatial operand read per dimension for `positions` steps of y: the share of its own
  // and the halo.
  std::int64_t span(std::size_t dimension, std::int64_t positions) const {
    return (positions - 1) * stride[dimension] + window[dimension];  // window counts dilation
  }
};
ConvDims conv_dims(const OpCall& call);

// The convolution that it is where channels share nothing, for the given extents of all axes; none where they do. That
// of the weights has the window for its results, and the positions for its window.
struct DepthwiseConv {
  DepthwiseShare share;
  std::int64_t read = 1;         // elements of the spatial operand, per channel
  bool weight_gradient = false;  // slides positions
  // Channels that the matrix unit, which loads 64 bits at a time, contracts in place of one.
  std::int64_t loaded() const { return weight_gradient ? 1 : 4; }
  friend auto operator<=>(const DepthwiseConv&, const DepthwiseConv&) = default;
};
std::optional<DepthwiseConv> depthwise_conv(const OpCall& call, std::span<const std::int64_t> extents);

// The axes of the op's Space that make up the dimensions of the product.
struct ConvAxes {
  int groups = 1;
  std::vector<int> rows, columns, contracted;
};
ConvAxes conv_axes(const OpCall& call);

}  // namespace superstep
