// SPDX-License-Identifier: Apache-2.0
#include "model/ops/conv.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/conv_geometry.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep {

namespace {

using namespace ops;

Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

std::vector<TensorInfo> infer(const OpCall& call) {
  const ConvGeometry g = conv_geometry(call);
  const DType type = call.in[0].type;
  if (g.role == ConvRole::forward) return {{type, g.y}};
  const Shape& dy = call.in[g.role == ConvRole::weight_grad ? 1 : 0].shape;
  if (dy != g.y) throw Error("", "gradient " + to_text(dy) + " of a convolution to " + to_text(g.y));
  return {{type, g.role == ConvRole::weight_grad ? g.w : g.x}};
}

// The product for the given extents of all axes. A step of x takes part in window / stride products.
MatmulDims product_of(const ConvGeometry& g, std::span<const std::int64_t> extents) {
  const Windows& w = g.windows;
  std::int64_t positions = extents[kConvN], taps = 1, per_step = 1;
  for (std::size_t i = 0; i < w.dims; ++i) {
    const std::int64_t stride = g.role == ConvRole::input_grad ? w.stride[w.first() + i] : 1;
    positions *= extents[kConvPositions + i];
    taps *= ceil_div(extents[kConvPositions + w.dims + i], stride);
    per_step *= stride;
  }
  const std::int64_t groups = extents[kConvG], o = extents[kConvO], c = extents[kConvC];
  if (g.role == ConvRole::forward) return {groups, positions, o, c * taps};
  if (g.role == ConvRole::weight_grad) return {groups, c * taps, o, positions};
  return {groups, positions, c * per_step, o * taps};
}

// Channels that share nothing are multiplied by the vector unit: per worker 25, per window row
// 19 + 3 (width - 1) for 8 channels, 61 for the supervisor (facts/hardware.md 2.5, VMAC).
Cycles depthwise_cycles(const TileCosts& costs, const ConvGeometry& g, std::span<const std::int64_t> extents) {
  const std::size_t dims = g.windows.dims;
  std::int64_t rows = extents[kConvN] * ceil_div(extents[kConvG], 8);
  for (std::size_t i = 0; i < dims; ++i) rows *= extents[kConvPositions + i];
  for (std::size_t i = 0; i + 1 < dims; ++i) rows *= extents[kConvPositions + dims + i];
  const std::int64_t per_row = 19 + 3 * (extents[kConvPositions + 2 * dims - 1] - 1);
  return costs.launch + Cycles(61 + costs.workers * (25 + ceil_div(rows, costs.workers) * per_row));
}

Cycles cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const ConvGeometry g = conv_geometry(call);
  const Cycles by_matrix = matrix_unit_cycles(costs, call.in[0].type, product_of(g, extents));
  if (g.out_channels() != 1 || g.in_channels() != 1) return by_matrix;
  return std::min(by_matrix, depthwise_cycles(costs, g, extents));
}

Attributes gradient_attributes(const Attributes& forward, const char* extra, Shape value) {
  Attributes attrs = forward;
  attrs.set(extra, std::move(value));
  return attrs;
}

std::vector<TensorId> gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const TensorId x = b.graph().ops[id].inputs[0], w = b.graph().ops[id].inputs[1];
  const Attributes attrs = b.graph().ops[id].attrs;
  std::vector<TensorId> grads(2);
  if (b.wants(x)) {
    grads[0] =
        b.one("conv_input_grad", {out_grads[0], w}, gradient_attributes(attrs, "spatial", spatial(b.info(x).shape)));
  }
  if (b.wants(w)) {
    grads[1] =
        b.one("conv_weight_grad", {x, out_grads[0]}, gradient_attributes(attrs, "window", spatial(b.info(w).shape)));
  }
  return grads;
}

OpDef make(std::string_view name, const char* extra) {
  OpDef def;
  def.name = name;
  def.attrs = window_attributes();
  def.attrs.push_back({"groups", std::int64_t{1}});
  if (extra) def.attrs.push_back({extra, std::vector<std::int64_t>{}});
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer;
  def.space = conv_space;
  def.kernel = conv_kernel;
  def.summation = Summation::contraction;
  def.cycles = cycles;
  def.gradient = extra ? nullptr : gradient;
  def.uses_amp = true;
  def.vertex_code = Bytes(4096);  // as matmul
  return def;
}

}  // namespace

ConvDims conv_dims(const OpCall& call) {
  const ConvGeometry g = conv_geometry(call);
  std::vector<std::int64_t> extents;
  for (const Axis& axis : conv_space(call).axes) extents.push_back(axis.extent);
  ConvDims dims{product_of(g, extents), {}, {}};
  for (std::size_t d = g.windows.first(); d < kSpatial; ++d) {
    dims.window.push_back((g.windows.window[d] - 1) * g.windows.dilation[d] + 1);
    dims.stride.push_back(g.windows.stride[d]);
  }
  return dims;
}

ConvAxes conv_axes(const OpCall& call) {
  const ConvGeometry g = conv_geometry(call);
  std::vector<int> positions{kConvN}, taps;
  for (int i = 0; i < static_cast<int>(g.windows.dims); ++i) {
    positions.push_back(kConvPositions + i);
    taps.push_back(kConvPositions + static_cast<int>(g.windows.dims) + i);
  }
  const auto with_taps = [&](int channel) {
    std::vector<int> all{channel};
    all.insert(all.end(), taps.begin(), taps.end());
    return all;
  };
  if (g.role == ConvRole::forward) return {kConvG, positions, {kConvO}, with_taps(kConvC)};
  if (g.role == ConvRole::weight_grad) return {kConvG, with_taps(kConvC), {kConvO}, positions};
  return {kConvG, positions, {kConvC}, with_taps(kConvO)};
}

namespace ops {
std::vector<const OpDef*> conv_ops() {
  static const OpDef defs[] = {make("conv", nullptr), make("conv_input_grad", "spatial"),
                               make("conv_weight_grad", "window")};
  return {&defs[0], &defs[1], &defs[2]};
}
}  // namespace ops

}  // namespace superstep
