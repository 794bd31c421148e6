// SPDX-License-Identifier: Apache-2.0
// Ops that take tensors apart and put them together: slice, split, concat, pad.
#include <algorithm>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

std::size_t axis_of(const OpCall& call) {
  return static_cast<std::size_t>(resolve_axis(call.attrs.integer("axis"), call.in[0].shape.size()));
}

// Copies the points of `block` that operand `in` has and result `out` takes: the rest is not touched.
void copy_overlap(const Projection& from, const ConstView& in, const Projection& to, const View& out, Block block,
                  const Shape& from_shape, const Shape& to_shape) {
  const auto clip = [&block](const Projection& p, const Shape& shape) {
    for (std::size_t d = 0; d < p.size(); ++d) {
      Range& range = block[static_cast<std::size_t>(p[d].axis)];
      range.begin = std::max(range.begin, -p[d].offset);
      range.end = std::max(range.begin, std::min(range.end, shape[d] - p[d].offset));
    }
  };
  clip(from, from_shape);
  clip(to, to_shape);
  if (volume(block) == 0) return;
  const Strided operands[] = {follow(from, in.region, block), follow(to, out.region, block)};
  const std::int64_t size = size_of(in.type);
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return block.empty() ? 0 : operands[i].step.back(); };
    copy_row(in.data, first[0], step(0), out.data, first[1], step(1), n, size);
  });
}

Cycles move_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  return copy_loop(costs, rows, columns, call.in[0].type);
}

// slice: [begin, end) of one axis

std::vector<TensorInfo> slice_infer(const OpCall& call) {
  TensorInfo result = call.in[0];
  std::int64_t& extent = result.shape[axis_of(call)];
  const std::int64_t begin = call.attrs.integer("begin"), end = call.attrs.integer("end");
  if (begin < 0 || end < begin || end > extent) {
    throw Error(
        "", "slice [" + std::to_string(begin) + ", " + std::to_string(end) + ") of extent " + std::to_string(extent));
  }
  extent = end - begin;
  return {result};
}

Space slice_space(const OpCall& call) {
  Space s;
  const std::size_t rank = call.out[0].shape.size();
  s.axes = axes_of(call.out[0].shape);
  s.in.push_back(identity(rank));
  s.in[0][axis_of(call)].offset = call.attrs.integer("begin");
  s.out.push_back(identity(rank));
  s.linear = 1;
  return s;
}

void slice_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                  const KernelContext&) {
  const Space s = slice_space(call);
  copy_overlap(s.in[0], in[0], s.out[0], out[0], block, call.in[0].shape, call.out[0].shape);
}

// The gradient is zero outside the slice.
TensorId slice_dx(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  const Op& op = b.graph().ops[b.graph().tensors[y].producer];
  const Shape& shape = b.info(x).shape;
  const auto axis = static_cast<std::size_t>(resolve_axis(op.attrs.integer("axis"), shape.size()));
  std::vector<std::int64_t> before(shape.size()), after(shape.size());
  before[axis] = op.attrs.integer("begin");
  after[axis] = shape[axis] - op.attrs.integer("end");
  Attributes attrs;
  attrs.set("before", std::move(before));
  attrs.set("after", std::move(after));
  return b.one("pad", {dy}, std::move(attrs));
}

OpDef make_slice() {
  OpDef def;
  def.name = "slice";
  def.attrs = {{"axis", std::int64_t{0}}, {"begin", std::int64_t{0}}, {"end", std::int64_t{0}}};
  def.infer = slice_infer;
  def.space = slice_space;
  def.kernel = slice_kernel;
  def.moves = true;
  def.cycles = move_cycles;
  def.gradient = unary_gradient<slice_dx>;
  return def;
}

// split: one result per size along an axis

std::vector<TensorInfo> split_infer(const OpCall& call) {
  const std::size_t axis = axis_of(call);
  std::vector<TensorInfo> results;
  std::int64_t total = 0;
  for (std::int64_t size : call.attrs.integers("sizes")) {
    results.push_back(call.in[0]);
    results.back().shape[axis] = size;
    total += size;
  }
  if (total != call.in[0].shape[axis]) {
    throw Error("", "sizes " + to_text(call.attrs.integers("sizes")) + " do not split " + to_text(call.in[0].shape));
  }
  return results;
}

Space split_space(const OpCall& call) {
  Space s;
  const std::size_t rank = call.in[0].shape.size(), axis = axis_of(call);
  s.axes = axes_of(call.in[0].shape);
  s.in.push_back(identity(rank));
  std::int64_t begin = 0;
  for (std::int64_t size : call.attrs.integers("sizes")) {
    s.out.push_back(identity(rank));
    s.out.back()[axis].offset = -begin;
    begin += size;
  }
  s.linear = 1;
  return s;
}

void split_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                  const KernelContext&) {
  const Space s = split_space(call);
  for (std::size_t i = 0; i < out.size(); ++i) {
    copy_overlap(s.in[0], in[0], s.out[i], out[i], block, call.in[0].shape, call.out[i].shape);
  }
}

std::vector<TensorId> split_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const std::vector<TensorId> outputs = b.graph().ops[id].outputs;
  const std::int64_t axis = b.graph().ops[id].attrs.integer("axis");
  if (!b.wants(b.graph().ops[id].inputs[0])) return {TensorId{}};
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo info = b.info(outputs[i]);
    parts.push_back(out_grads[i].valid() ? out_grads[i] : b.expand(b.scalar(info.type, 0), info.shape));
  }
  return {b.concat(std::move(parts), axis)};
}

OpDef make_split() {
  OpDef def;
  def.name = "split";
  def.attrs = {{"axis", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>{}}};
  def.infer = split_infer;
  def.space = split_space;
  def.kernel = split_kernel;
  def.moves = true;
  def.cycles = move_cycles;
  def.gradient = split_gradient;
  return def;
}

// concat

std::vector<TensorInfo> concat_infer(const OpCall& call) {
  const std::size_t axis = axis_of(call);
  TensorInfo result = call.in[0];
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    Shape rest = call.in[i].shape;
    if (rest.size() != result.shape.size()) throw Error("", "concat of different ranks");
    result.shape[axis] += std::exchange(rest[axis], result.shape[axis]);
    rest[axis] = result.shape[axis];
    if (rest != result.shape) {
      throw Error("", "cannot concatenate " + to_text(call.in[0].shape) + " and " + to_text(call.in[i].shape));
    }
  }
  return {result};
}

Space concat_space(const OpCall& call) {
  Space s;
  const std::size_t rank = call.out[0].shape.size(), axis = axis_of(call);
  s.axes = axes_of(call.out[0].shape);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    s.in.push_back(identity(rank));
    s.in.back()[axis].offset = -begin;
    begin += call.in[i].shape[axis];
    s.linear |= i < 32 ? 1u << i : 0u;
  }
  s.out.push_back(identity(rank));
  return s;
}

void concat_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext&) {
  const Space s = concat_space(call);
  for (std::size_t i = 0; i < in.size(); ++i) {
    copy_overlap(s.in[i], in[i], s.out[0], out[0], block, call.in[i].shape, call.out[0].shape);
  }
}

std::vector<TensorId> concat_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const std::vector<TensorId> inputs = b.graph().ops[id].inputs;
  const std::int64_t axis = resolve_axis(b.graph().ops[id].attrs.integer("axis"), b.info(inputs[0]).shape.size());
  std::vector<TensorId> grads(inputs.size());
  std::vector<std::int64_t> sizes;
  bool all = true;
  for (TensorId t : inputs) {
    sizes.push_back(b.info(t).shape[static_cast<std::size_t>(axis)]);
    all = all && b.wants(t);
  }
  if (all) return b.split(out_grads[0], axis, std::move(sizes));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < inputs.size(); begin += sizes[i++]) {
    if (b.wants(inputs[i])) grads[i] = b.slice(out_grads[0], axis, begin, begin + sizes[i]);
  }
  return grads;
}

OpDef make_concat() {
  OpDef def;
  def.name = "concat";
  def.attrs = {{"axis", std::int64_t{0}}};
  def.min_inputs = 1;
  def.max_inputs = 1 << 20;
  def.infer = concat_infer;
  def.space = concat_space;
  def.kernel = concat_kernel;
  def.moves = true;
  def.cycles = move_cycles;
  def.gradient = concat_gradient;
  return def;
}

// pad: `before` and `after` elements of `value` per dimension; negative ones cut.

std::vector<TensorInfo> pad_infer(const OpCall& call) {
  const auto &before = call.attrs.integers("before"), &after = call.attrs.integers("after");
  TensorInfo result = call.in[0];
  if (before.size() != result.shape.size() || after.size() != result.shape.size()) {
    throw Error("", "pad wants one amount per dimension of " + to_text(result.shape));
  }
  for (std::size_t d = 0; d < before.size(); ++d) {
    result.shape[d] += before[d] + after[d];
    if (result.shape[d] < 0) throw Error("", "pad cuts more than there is of " + to_text(call.in[0].shape));
  }
  return {result};
}

Space pad_space(const OpCall& call) {
  Space s;
  const auto& before = call.attrs.integers("before");
  s.axes = axes_of(call.out[0].shape);
  s.in.push_back(identity(before.size()));
  for (std::size_t d = 0; d < before.size(); ++d) s.in[0][d].offset = -before[d];
  s.out.push_back(identity(before.size()));
  s.linear = call.attrs.number("value") == 0 ? 1 : 0;
  return s;
}

void pad_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                const KernelContext&) {
  const Space s = pad_space(call);
  const Strided target[] = {follow(s.out[0], out[0].region, block)};
  const double value = call.attrs.number("value");
  for_each_row(block, target, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const std::int64_t step = block.empty() ? 0 : target[0].step.back();
    for (std::int64_t i = 0; i < n; ++i) store_element(out[0].data, out[0].type, first[0] + i * step, value);
  });
  copy_overlap(s.in[0], in[0], s.out[0], out[0], block, call.in[0].shape, call.out[0].shape);
}

TensorId pad_dx(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const Op& op = b.graph().ops[b.graph().tensors[y].producer];
  std::vector<std::int64_t> before = op.attrs.integers("before"), after = op.attrs.integers("after");
  for (std::int64_t& amount : before) amount = -amount;
  for (std::int64_t& amount : after) amount = -amount;
  Attributes attrs;
  attrs.set("before", std::move(before));
  attrs.set("after", std::move(after));
  return b.one("pad", {dy}, std::move(attrs));
}

OpDef make_pad() {
  OpDef def;
  def.name = "pad";
  def.attrs = {{"before", std::vector<std::int64_t>{}}, {"after", std::vector<std::int64_t>{}}, {"value", 0.0}};
  def.infer = pad_infer;
  def.space = pad_space;
  def.kernel = pad_kernel;
  def.moves = true;
  def.cycles = move_cycles;
  def.gradient = unary_gradient<pad_dx>;
  return def;
}

}  // namespace

std::vector<const OpDef*> join_ops() {
  static const OpDef defs[] = {make_slice(), make_split(), make_concat(), make_pad()};
  std::vector<const OpDef*> all;
  for (const OpDef& def : defs) all.push_back(&def);
  return all;
}

}  // namespace superstep::ops
