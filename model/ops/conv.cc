// SPDX-License-Identifier: Apache-2.0
#include "model/ops/conv.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/amp_window_vertex.h"
#include "model/ops/conv_geometry.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep {

namespace ops {

namespace {

std::vector<TensorInfo> infer_conv(const OpCall& call) {
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

DepthwiseConv depthwise_of(const ConvGeometry& g, std::span<const std::int64_t> extents) {
  const std::size_t dims = g.windows.dims, last = dims - 1;
  DepthwiseConv conv;
  DepthwiseShare& s = conv.share;
  s.channels = extents[kConvG];
  std::int64_t lines = extents[kConvN], per_step = 1;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t stride = g.windows.stride[g.windows.first() + i];
    const std::int64_t taps = extents[kConvPositions + dims + i];
    // Of the gradient of the operand a step of positions is `stride` results, each of so much of the window.
    const std::int64_t window = g.role == ConvRole::input_grad ? ceil_div(taps, stride) : taps;
    (i == last ? s.window_columns : s.window_rows) *= window;
    if (i != last) lines *= extents[kConvPositions + i];
    per_step *= stride;
  }
  s.line = extents[kConvPositions + last];
  s.positions = lines * s.line;
  conv.read = s.positions;
  if (g.role == ConvRole::input_grad) {
    s.positions *= per_step;
    return conv;
  }
  conv.read *= per_step;
  s.stride = g.windows.stride[g.windows.first() + last];
  if (g.role == ConvRole::forward) return conv;
  conv.weight_gradient = true;
  const std::int64_t results = s.window_rows * s.window_columns;
  s.window_columns = s.line, s.window_rows = lines;
  s.line = extents[kConvPositions + 2 * dims - 1], s.positions = results;
  s.stride = 1;
  return conv;
}

// Of the window's vertex where the op's own channels, not those of the block at hand, ask for it: a block of whole
// groups then costs no less than a larger one that is ragged.
Cycles window_cycles(const TileCosts& costs, DType type, const ConvWindow& w, const MatmulDims& product) {
  const AmpWindowVertex vertex(costs.amp, costs.workers, type, type);
  const std::int64_t columns = ceil_div(product.columns, std::max<std::int64_t>(costs.amp.block_channels, 1));
  std::int64_t least = INT64_MAX;
  for (std::int64_t height = 1; height <= vertex.kMostHeight; height *= 2) {
    const AmpWindow window = vertex.window(height, w.channels, w.rows, w.columns, w.line);
    least = std::min(least, vertex.cycles(window, {product.batch, product.rows, columns, window.passes()}));
  }
  return Cycles(least);
}

Cycles conv_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const DType type = size_of(call.in[0].type) <= 2 ? DType::fp16 : DType::fp32;
  const MatmulDims product = product_of(conv_geometry(call), extents);
  std::vector<std::int64_t> all;
  for (const Axis& axis : conv_space(call).axes) all.push_back(axis.extent);
  const AmpWindowVertex vertex(costs.amp, costs.workers, type, type);
  const Cycles by_matrix = conv_window(call, all).fills_badly(vertex.depth())
                               ? window_cycles(costs, type, conv_window(call, extents), product)
                               : matrix_unit_cycles(costs, type, product);
  const std::optional<DepthwiseConv> conv = depthwise_conv(call, extents);
  if (!conv) return by_matrix;
  const DepthwiseVertex depthwise(costs.workers, type);
  const DepthwiseCycles own = conv->weight_gradient ? depthwise.vmac(conv->share) : depthwise.fastest(conv->share);
  return std::min(by_matrix, Cycles(own.total));
}

Attributes gradient_attributes(const Attributes& forward, const char* extra, Shape value) {
  Attributes attrs = forward;
  attrs.set(extra, std::move(value));
  return attrs;
}

std::vector<TensorId> conv_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
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

// y is what conv_input_grad makes of g and w, linear in both: a convolution leads back from y to g.
std::vector<TensorId> input_grad_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const TensorId g = b.graph().ops[id].inputs[0], w = b.graph().ops[id].inputs[1];
  Attributes attrs;
  for (const auto& [name, value] : b.graph().ops[id].attrs.items()) {
    if (name != "spatial") attrs.set(name, value);
  }
  std::vector<TensorId> grads(2);
  if (b.wants(g)) grads[0] = b.one("conv", {out_grads[0], w}, attrs);
  if (b.wants(w))
    grads[1] =
        b.one("conv_weight_grad", {out_grads[0], g}, gradient_attributes(attrs, "window", spatial(b.info(w).shape)));
  return grads;
}

ProductAxes conv_product_axes(const OpCall& call) {
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
  if (g.role == ConvRole::forward) return {{kConvG}, positions, {kConvO}, with_taps(kConvC)};
  if (g.role == ConvRole::weight_grad) return {{kConvG}, with_taps(kConvC), {kConvO}, positions};
  return {{kConvG}, positions, {kConvC}, with_taps(kConvO)};
}

// The gradient of a convolution's operand is a convolution of the result's, whose channels lie together already. Its
// weights are turned.
std::uint32_t turned_conv_operands(const OpCall&, ProductUse use) {
  if (!use.backward) return 0;
  return use.weight_gradient ? 3 : 2;
}

Convolution convolution(const OpCall& call, std::span<const std::int64_t> extents) {
  return {conv_window(call, extents), depthwise_conv(call, extents)};
}

constexpr ProductDef kConvProduct{conv_product_axes, turned_conv_operands, convolution};

OpDef make_conv(std::string_view name, const char* extra) {
  OpDef def;
  def.name = name;
  def.attrs = window_attributes();
  def.attrs.push_back({"groups", std::int64_t{1}});
  if (extra) def.attrs.push_back({extra, std::vector<std::int64_t>{}});
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer_conv;
  def.space = conv_space;
  def.kernel = conv_kernel;
  def.summation = Summation::contraction;
  def.cycles = conv_cycles;
  def.gradient = extra ? nullptr : conv_gradient;
  def.product = &kConvProduct;
  if (!extra) def.weight_roles = {WeightRole::window};
  def.linear_in = linear_in_one;
  def.vertex_code = Bytes(4096);  // as matmul
  return def;
}

}  // namespace

std::vector<const OpDef*> conv_ops() {
  static const OpDef transposed = [] {
    OpDef def = make_conv("conv_input_grad", "spatial");
    def.gradient = input_grad_gradient;
    def.weight_roles = {WeightRole::window};
    return def;
  }();
  static const OpDef forward = make_conv("conv", nullptr), weights = make_conv("conv_weight_grad", "window");
  return {&forward, &transposed, &weights};
}

}  // namespace ops

MatmulDims conv_product(const OpCall& call) {
  std::vector<std::int64_t> extents;
  for (const Axis& axis : ops::conv_space(call).axes) extents.push_back(axis.extent);
  return ops::product_of(ops::conv_geometry(call), extents);
}

ConvWindow conv_window(const OpCall& call, std::span<const std::int64_t> extents) {
  const ops::ConvGeometry g = ops::conv_geometry(call);
  const std::size_t dims = g.windows.dims;
  ConvWindow w;
  w.channels = extents[g.role == ops::ConvRole::input_grad ? ops::kConvO : ops::kConvC];
  w.slides = g.role != ops::ConvRole::weight_grad;
  w.line = extents[ops::kConvPositions + dims - 1];
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t stride = g.windows.stride[g.windows.first() + i];
    const std::int64_t places = extents[ops::kConvPositions + dims + i];
    const bool steps = g.role == ops::ConvRole::input_grad;
    (i == 0 ? w.rows : w.columns) *= places;
    (i == 0 ? w.new_rows : w.new_columns) *= steps ? 1 : std::min(stride, places);
  }
  return w;
}

std::optional<DepthwiseConv> depthwise_conv(const OpCall& call, std::span<const std::int64_t> extents) {
  const ops::ConvGeometry g = ops::conv_geometry(call);
  if (g.in_channels() != 1 || g.out_channels() != 1 || g.groups == 1 || size_of(call.in[0].type) > 2) return {};
  return ops::depthwise_of(g, extents);
}

}  // namespace superstep
