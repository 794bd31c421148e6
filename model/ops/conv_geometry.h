// SPDX-License-Identifier: Apache-2.0
// Which operand or result of a convolution or of its gradients plays which part; the kernel of all three.
#pragma once

#include "model/ops/window.h"

namespace superstep::ops {

enum class ConvRole { forward, weight_grad, input_grad };

struct ConvGeometry {
  ConvRole role = ConvRole::forward;
  Shape x, w, y;  // of the three tensors
  std::int64_t groups = 1;
  Windows windows;
  std::int64_t out_channels() const { return w[0] / groups; }  // of a group
  std::int64_t in_channels() const { return w[1]; }
};
ConvGeometry conv_geometry(const OpCall& call);  // throws Error where the operands do not fit

// Axes: n, group, channels of a group of y and x, then positions of y, then the window.
constexpr int kConvN = 0, kConvG = 1, kConvO = 2, kConvC = 3, kConvPositions = 4;
Space conv_space(const OpCall& call);

void conv_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext& context);

}  // namespace superstep::ops
