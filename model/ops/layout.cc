// SPDX-License-Identifier: Apache-2.0
// Ops that change how values lie, not the values: reshape (a view), transpose, expand, copy, and the
// marker that stops gradients.
#include <algorithm>
#include <numeric>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

// reshape

std::vector<TensorInfo> reshape_infer(const OpCall& call) {
  const Shape& shape = call.attrs.integers("shape");
  if (volume(shape) != call.in[0].elements()) {
    throw Error("", "cannot reshape " + to_text(call.in[0].shape) + " to " + to_text(shape));
  }
  return {{call.in[0].type, shape}};
}

// Consecutive dimensions of both shapes with the same number of elements: extents of 1 left out.
struct Group {
  std::vector<std::size_t> from, to;
};

std::vector<Group> groups(const Shape& from, const Shape& to) {
  std::vector<Group> all;
  std::size_t i = 0, j = 0;
  const auto skip = [](const Shape& s, std::size_t& d) {
    while (d < s.size() && s[d] == 1) ++d;
  };
  for (;;) {
    skip(from, i);
    skip(to, j);
    if (i == from.size() || j == to.size()) return all;
    Group group;
    std::int64_t pi = from[i], pj = to[j];
    group.from.push_back(i++);
    group.to.push_back(j++);
    while (pi != pj) {
      if (pi < pj) {
        pi *= from[i];
        if (from[i] != 1) group.from.push_back(i);
        ++i;
      } else {
        pj *= to[j];
        if (to[j] != 1) group.to.push_back(j);
        ++j;
      }
    }
    all.push_back(std::move(group));
  }
}

// The leading dimension of a group may be cut where both shapes have a boundary; the rest is whole.
Space reshape_space(const OpCall& call) {
  const Shape &from = call.in[0].shape, &to = call.out[0].shape;
  Space s;
  s.in.emplace_back(from.size());
  s.out.emplace_back(to.size());
  s.linear = 1;
  if (call.in[0].elements() == 0) return s;
  for (const Group& group : groups(from, to)) {
    const std::int64_t a = from[group.from[0]], b = to[group.to[0]];
    const std::int64_t extent = std::gcd(a, b);
    const int axis = static_cast<int>(s.axes.size());
    s.axes.push_back({axis_name('g', s.axes.size()), extent, AxisKind::parallel});
    s.in[0][group.from[0]] = {.axis = axis, .stride = a / extent, .span = a / extent};
    s.out[0][group.to[0]] = {.axis = axis, .stride = b / extent, .span = b / extent};
  }
  return s;
}

void reshape_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext&) {
  const Space s = reshape_space(call);
  // Both regions hold the same elements in the same order.
  const Block from = project(s.in[0], call.in[0].shape, block), to = project(s.out[0], call.out[0].shape, block);
  const Strided source[] = {follow(identity(from.size()), in[0].region, from)};
  const Strided target[] = {follow(identity(to.size()), out[0].region, to)};
  const std::int64_t size = size_of(in[0].type);
  std::vector<std::byte> run(static_cast<std::size_t>(volume(from) * size));
  std::int64_t next = 0;
  for_each_row(from, source, [&](std::span<const std::int64_t> first, std::int64_t n) {
    copy_row(in[0].data, first[0], from.empty() ? 0 : source[0].step.back(), run.data(), next, 1, n, size);
    next += n;
  });
  next = 0;
  for_each_row(to, target, [&](std::span<const std::int64_t> first, std::int64_t n) {
    copy_row(run.data(), next, 1, out[0].data, first[0], to.empty() ? 0 : target[0].step.back(), n, size);
    next += n;
  });
}

Cycles no_cycles(const TileCosts&, const OpCall&, std::span<const std::int64_t>) { return Cycles(0); }

TensorId reshape_dx(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  const Shape shape = b.info(x).shape;
  return b.reshape(dy, shape);
}

OpDef make_reshape() {
  OpDef def;
  def.name = "reshape";
  def.attrs = {{"shape", std::vector<std::int64_t>{}}};
  def.infer = reshape_infer;
  def.space = reshape_space;
  def.kernel = reshape_kernel;
  def.moves = true;
  def.cycles = no_cycles;
  def.gradient = unary_gradient<reshape_dx>;
  def.view = true;
  def.regroups = true;
  def.vertex_code = Bytes(0);
  return def;
}

// Copies operand elements along the axes of the space.
void copy_block(const Space& s, const Block& block, const ConstView& in, const View& out) {
  const Strided operands[] = {follow(s.in[0], in.region, block), follow(s.out[0], out.region, block)};
  const std::int64_t size = size_of(in.type);
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return block.empty() ? 0 : operands[i].step.back(); };
    copy_row(in.data, first[0], step(0), out.data, first[1], step(1), n, size);
  });
}

template <Space (*S)(const OpCall&)>
void copy_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext&) {
  copy_block(S(call), block, in[0], out[0]);
}

Cycles copy_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  return copy_loop(costs, rows, columns, call.in[0].type);
}

// stop_gradient and copy: the operand's values.

OpDef make_stop_gradient() {
  OpDef def;
  def.name = "stop_gradient";
  def.infer = same_as_first;
  def.space = elementwise_space<1>;
  def.kernel = copy_kernel<elementwise_space<1>>;
  def.moves = true;
  def.cycles = no_cycles;
  def.gradient = no_gradient;
  def.view = true;
  def.vertex_code = Bytes(0);
  return def;
}

TensorId copy_dx(GraphBuilder&, TensorId, TensorId, TensorId dy) { return dy; }

OpDef make_copy() {
  OpDef def = make_stop_gradient();
  def.name = "copy";
  def.cycles = copy_cycles;
  def.folds = false;
  def.gradient = unary_gradient<copy_dx>;
  def.broadcast_gradient = true;
  def.view = false;
  def.vertex_code = Bytes(512);
  return def;
}

// expand

std::vector<TensorInfo> expand_infer(const OpCall& call) {
  const Shape& shape = call.attrs.integers("shape");
  if (broadcast(call.in[0].shape, shape) != shape) {
    throw Error("", "cannot expand " + to_text(call.in[0].shape) + " to " + to_text(shape));
  }
  return {{call.in[0].type, shape}};
}

std::vector<TensorId> expand_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  if (!b.wants(c.in[0])) return {TensorId{}};
  return {to_operand(b, c.dy, c.in[0], c.y)};
}

OpDef make_expand() {
  OpDef def;
  def.name = "expand";
  def.attrs = {{"shape", std::vector<std::int64_t>{}}};
  def.infer = expand_infer;
  def.space = elementwise_space<1>;
  def.kernel = copy_kernel<elementwise_space<1>>;
  def.moves = true;
  def.cycles = copy_cycles;
  def.gradient = expand_gradient;
  def.broadcast_gradient = true;
  def.vertex_code = Bytes(512);
  return def;
}

// transpose: dimension d of the result is dimension permutation[d] of the operand.

std::vector<TensorInfo> transpose_infer(const OpCall& call) {
  const std::vector<std::int64_t>& permutation = call.attrs.integers("permutation");
  const Shape& from = call.in[0].shape;
  std::vector<std::int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool valid = sorted.size() == from.size();
  for (std::size_t d = 0; valid && d < sorted.size(); ++d) valid = sorted[d] == static_cast<std::int64_t>(d);
  if (!valid) throw Error("", to_text(permutation) + " does not permute the dimensions of " + to_text(from));
  Shape shape;
  for (std::int64_t d : permutation) shape.push_back(from[static_cast<std::size_t>(d)]);
  return {{call.in[0].type, shape}};
}

Space transpose_space(const OpCall& call) {
  const std::vector<std::int64_t>& permutation = call.attrs.integers("permutation");
  Space s;
  s.axes = axes_of(call.out[0].shape);
  s.in.emplace_back(permutation.size());
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    s.in[0][static_cast<std::size_t>(permutation[d])].axis = static_cast<int>(d);
  }
  s.out.push_back(identity(permutation.size()));
  s.linear = 1;
  return s;
}

// Rows stay rows: a copy in pieces. Else a transpose of 4 x 4 (half) or 2 x 2 (float) grains:
// 29 + T (18 + R (12 + 4 (C - 2))) for T matrices of R x C grains, floats 3 per grain; the matrices
// are taken as one where they are fewer than the workers. Matrices that are no whole grains go element by element.
Cycles transpose_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const std::vector<std::int64_t>& permutation = call.attrs.integers("permutation");
  const auto rank = static_cast<std::int64_t>(permutation.size());
  const auto [rows, columns] = rows_of(extents);
  if (rank < 2 || permutation.back() == rank - 1) return copy_loop(costs, rows, columns, call.in[0].type);
  if (!turns_in_grains(call.in[0].shape.back(), call.out[0].shape.back(), call.in[0].type))
    return costs.launch + Cycles(kElementMove * rows * columns);
  const std::int64_t grain = lanes(call.in[0].type), per_grain = grain >= 4 ? 4 : 3;
  const auto inner = std::find(permutation.begin(), permutation.end(), rank - 1) - permutation.begin();
  const std::int64_t across = ceil_div(columns, grain);
  const std::int64_t down = ceil_div(extents[static_cast<std::size_t>(inner)], grain);
  const std::int64_t matrices = rows / std::max<std::int64_t>(extents[static_cast<std::size_t>(inner)], 1);
  const std::int64_t strips = ceil_div(matrices * down, costs.workers);  // of one grain row each
  return costs.launch + Cycles(costs.workers * (29 + 18 + strips * (12 + per_grain * across)));
}

TensorId transpose_dx(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const std::vector<std::int64_t> forward = b.graph().ops[b.graph().tensors[y].producer].attrs.integers("permutation");
  std::vector<std::int64_t> inverse(forward.size());
  for (std::size_t d = 0; d < forward.size(); ++d) {
    inverse[static_cast<std::size_t>(forward[d])] = static_cast<std::int64_t>(d);
  }
  return b.transpose(dy, std::move(inverse));
}

OpDef make_transpose() {
  OpDef def;
  def.name = "transpose";
  def.attrs = {{"permutation", std::vector<std::int64_t>{}}};
  def.infer = transpose_infer;
  def.space = transpose_space;
  def.kernel = copy_kernel<transpose_space>;
  def.moves = true;
  def.cycles = transpose_cycles;
  def.gradient = unary_gradient<transpose_dx>;
  return def;
}

}  // namespace

std::vector<const OpDef*> layout_ops() {
  static const OpDef defs[] = {make_reshape(), make_stop_gradient(), make_copy(), make_expand(), make_transpose()};
  std::vector<const OpDef*> all;
  for (const OpDef& def : defs) all.push_back(&def);
  return all;
}

}  // namespace superstep::ops
