// SPDX-License-Identifier: Apache-2.0
// Ops along one axis that places decide. scatter_elements(data, indices, updates): data with updates written to, or
// added at, the places along an axis that indices name; scatter_join: with their product or the larger or smaller one.
// top_k(x): values and places of the largest elements along an axis. The axis is never split; all others are parallel.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

using Join = double (*)(double, double);
using JoinIntegers = std::int64_t (*)(DType, std::int64_t, std::int64_t);

// Integers wrap around in their type.
JoinIntegers join_of_integers(const std::string& reduction) {
  if (reduction == "add")
    return [](DType, std::int64_t old, std::int64_t update) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(update));
    };
  if (reduction == "mul")
    return [](DType, std::int64_t old, std::int64_t update) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(old) * static_cast<std::uint64_t>(update));
    };
  if (reduction == "max")
    return [](DType type, std::int64_t old, std::int64_t update) { return extremum(type, old, update, true); };
  return [](DType type, std::int64_t old, std::int64_t update) { return extremum(type, old, update, false); };
}

// Null: an update takes the place of what is there.
Join join_of(const OpCall& call) {
  const std::string& reduction = call.attrs.text("reduction");
  if (call.def.gradient) {
    if (reduction == "none") return nullptr;
    if (reduction == "add") return [](double old, double update) { return old + update; };
    throw Error("", "reduction \"" + reduction + "\", expected none or add");
  }
  if (reduction == "mul") return [](double old, double update) { return old * update; };
  if (reduction == "max") return [](double old, double update) { return larger(old, update); };
  if (reduction == "min") return [](double old, double update) { return -larger(-old, -update); };
  throw Error("", "reduction \"" + reduction + "\", expected mul, max or min");
}

std::int64_t place(double index, std::int64_t extent) {
  auto at = static_cast<std::int64_t>(index);
  if (at < 0) at += extent;
  if (at >= 0 && at < extent) return at;
  throw Error("", "index " + std::to_string(static_cast<std::int64_t>(index)) + " is outside of " +
                      std::to_string(extent) + " elements");
}

std::size_t axis_of(const OpCall& call) {
  return static_cast<std::size_t>(resolve_axis(call.attrs.integer("axis"), call.in[0].shape.size()));
}

// One parallel axis for each dimension but `along`.
Space space_beside(const OpCall& call, std::size_t along) {
  Space space;
  const Shape& shape = call.in[0].shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != along) space.axes.push_back({axis_name('d', d), shape[d], AxisKind::parallel});
  }
  const auto follow_axes = [&](const Shape& operand) {
    Projection projection(operand.size());
    int axis = 0;
    for (std::size_t d = 0; d < operand.size(); ++d) {
      if (d == along) continue;
      if (operand[d] == shape[d]) projection[d].axis = axis;  // else of extent 1, the same for all
      ++axis;
    }
    return projection;
  };
  for (const TensorInfo& info : call.in) space.in.push_back(follow_axes(info.shape));
  for (const TensorInfo& info : call.out) space.out.push_back(follow_axes(info.shape));
  return space;
}

// The elements of an operand along the axis, for one point of the block.
struct AxisLine {
  std::int64_t first, step;
};

// Calls f(lines) for each point of the block, with a line of each operand and then of each result.
template <class F>
void for_each_line(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   std::size_t axis, F&& f) {
  const Space space = space_beside(call, axis);
  std::vector<Strided> strided;
  std::vector<AxisLine> lines;
  const auto add = [&](const Projection& projection, const Block& region) {
    strided.push_back(follow(projection, region, block));
    lines.push_back({0, row_major(region)[axis]});
  };
  for (std::size_t i = 0; i < in.size(); ++i) add(space.in[i], in[i].region);
  for (std::size_t i = 0; i < out.size(); ++i) add(space.out[i], out[i].region);
  for_each_row(block, strided, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < lines.size(); ++k)
        lines[k].first = first[k] + (block.empty() ? 0 : i * strided[k].step.back());
      f(lines);
    }
  });
}

void copy(const ConstView& from, AxisLine a, const View& to, AxisLine b, std::int64_t n) {
  if (from.type == to.type)
    return copy_row(from.data, a.first, a.step, to.data, b.first, b.step, n, size_of(from.type));
  for (std::int64_t i = 0; i < n; ++i)
    store_element(to.data, to.type, b.first + i * b.step, load_element(from.data, from.type, a.first + i * a.step));
}

// scatter_elements

std::vector<TensorInfo> scatter_infer(const OpCall& call) {
  const Shape &data = call.in[0].shape, &indices = call.in[1].shape, &updates = call.in[2].shape;
  const std::size_t axis = axis_of(call);
  join_of(call);
  bool fits = indices.size() == data.size() && updates.size() == data.size() && is_integer(call.in[1].type) &&
              call.in[2].type == call.in[0].type;
  for (std::size_t d = 0; fits && d < data.size(); ++d)
    fits = d == axis ? updates[d] == indices[d] : updates[d] == data[d] && (indices[d] == data[d] || indices[d] == 1);
  if (!fits)
    throw Error("", "scatter of " + to_text(call.in[2]) + " at " + to_text(call.in[1]) + " into " +
                        to_text(call.in[0]) + " along dimension " + std::to_string(axis));
  return {call.in[0]};
}

Space scatter_space(const OpCall& call) {
  Space space = space_beside(call, axis_of(call));
  if (call.def.gradient) space.linear = 5;  // in data and updates together
  return space;
}

void scatter_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext&) {
  const std::size_t axis = axis_of(call);
  const Join join = join_of(call);
  const JoinIntegers join_integers = join_of_integers(call.attrs.text("reduction"));
  const std::int64_t extent = call.in[0].shape[axis], updates = call.in[1].shape[axis];
  const View& to = out[0];
  for_each_line(call, block, in, out, axis, [&](const std::vector<AxisLine>& lines) {
    const AxisLine &data = lines[0], &indices = lines[1], &update = lines[2], &result = lines[3];
    copy(in[0], data, to, result, extent);
    for (std::int64_t i = 0; i < updates; ++i) {
      const double index = load_element(in[1].data, in[1].type, indices.first + i * indices.step);
      const std::int64_t at = result.first + place(index, extent) * result.step, from = update.first + i * update.step;
      if (!join)
        copy(in[2], {from, 1}, to, {at, 1}, 1);
      else if (is_integer(to.type))
        store_integer(
            to.data, to.type, at,
            join_integers(to.type, load_integer(to.data, to.type, at), load_integer(in[2].data, in[2].type, from)));
      else
        store_element(to.data, to.type, at,
                      join(load_element(to.data, to.type, at), load_element(in[2].data, in[2].type, from)));
    }
  });
}

// The data are copied, and each update is an element moved by itself.
Cycles scatter_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const std::int64_t lines = std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  const std::size_t axis = axis_of(call);
  const std::int64_t moved = ceil_div(lines * call.in[1].shape[axis], costs.workers) * kElementMove;
  return copy_loop(costs, lines, call.in[0].shape[axis], call.in[0].type) + Cycles(costs.workers * moved);
}

// What indices [.., n, ..] name of x along the axis.
TensorId taken_along(GraphBuilder& b, TensorId x, TensorId indices, std::size_t axis) {
  const Shape shape = b.info(x).shape, places = b.info(indices).shape;
  std::vector<std::int64_t> order(shape.size()), back(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(axis), order.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
              order.end());
  for (std::size_t d = 0; d < order.size(); ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  Attributes attrs;
  if (volume(places) == places[axis]) {  // the same for all
    attrs.set("axis", static_cast<std::int64_t>(axis));
    return b.one("gather", {x, b.reshape(indices, {places[axis]})}, std::move(attrs));
  }
  Shape wide = shape;
  wide[axis] = places[axis];
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  attrs.set("axis", last);
  attrs.set("batch_dims", last);
  const TensorId rows = b.transpose(b.expand(indices, wide), order);
  return b.transpose(b.one("gather", {b.transpose(x, order), rows}, std::move(attrs)), back);
}

std::vector<TensorId> scatter_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const Op op = b.graph().ops[id];
  const TensorId data = op.inputs[0], indices = op.inputs[1], updates = op.inputs[2], dy = out_grads[0];
  std::vector<TensorId> grads(3);
  if (b.wants(data)) {
    grads[0] = dy;
    const TensorId zeros = b.expand(b.scalar(b.info(dy).type, 0), b.info(updates).shape);
    if (op.attrs.text("reduction") == "none") grads[0] = b.one("scatter_elements", {dy, indices, zeros}, op.attrs);
  }
  const std::size_t rank = b.info(data).shape.size();
  if (b.wants(updates))
    grads[2] = taken_along(b, dy, indices, static_cast<std::size_t>(resolve_axis(op.attrs.integer("axis"), rank)));
  return grads;
}

// top_k, in order; of equals the first. NaN is the largest, as in PyTorch.

std::vector<TensorInfo> top_infer(const OpCall& call) {
  TensorInfo result = call.in[0];
  std::int64_t& extent = result.shape.at(axis_of(call));
  const std::int64_t k = call.attrs.integer("k");
  if (k < 0 || k > extent) throw Error("", "the first " + std::to_string(k) + " of " + std::to_string(extent));
  extent = k;
  return {result, {DType::int64, result.shape}};
}

Space top_space(const OpCall& call) { return space_beside(call, axis_of(call)); }

bool above(double a, double b) { return a > b || (a != a && b == b); }

void top_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                const KernelContext&) {
  const std::size_t axis = axis_of(call);
  const bool largest = call.attrs.integer("largest") != 0;
  const std::int64_t n = call.in[0].shape[axis], k = call.out[0].shape[axis];
  const bool integers = is_integer(in[0].type);
  std::vector<double> values(static_cast<std::size_t>(n));
  std::vector<std::int64_t> order(values.size());
  for_each_line(call, block, in, out, axis, [&](const std::vector<AxisLine>& lines) {
    const auto integer = [&](std::int64_t i) {
      return load_integer(in[0].data, in[0].type, lines[0].first + i * lines[0].step);
    };
    if (!integers) load_row(in[0].data, in[0].type, lines[0].first, lines[0].step, n, values.data());
    const auto is_above = [&](std::int64_t a, std::int64_t b) {
      if (!integers) return above(values[static_cast<std::size_t>(a)], values[static_cast<std::size_t>(b)]);
      return integer(a) != integer(b) && extremum(in[0].type, integer(a), integer(b), true) == integer(a);
    };
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
      const bool higher = is_above(a, b);
      return higher != is_above(b, a) ? higher == largest : a < b;
    });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t at = order[static_cast<std::size_t>(i)];
      copy(in[0], {lines[0].first + at * lines[0].step, 1}, out[0], {lines[1].first + i * lines[1].step, 1}, 1);
      store_element(out[1].data, out[1].type, lines[2].first + i * lines[2].step, static_cast<double>(at));
    }
  });
}

// A bitonic sort, as popops has it: log n (log n + 1) / 2 passes, each a comparison for two elements (as max), of
// values and places (estimated).
Cycles top_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const std::int64_t lines = std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t n = call.in[0].shape[axis_of(call)];
  const auto steps =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 2) - 1)));
  return flat_loop(costs, lines * n * (steps * (steps + 1) / 2), DType::fp32, {26, 4, 3});
}

std::vector<TensorId> top_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const Op op = b.graph().ops[id];
  if (!b.wants(op.inputs[0]) || !out_grads[0].valid()) return {TensorId{}};
  Attributes attrs;
  attrs.set("axis", op.attrs.integer("axis"));
  const TensorId zeros = b.expand(b.scalar(b.info(out_grads[0]).type, 0), b.info(op.inputs[0]).shape);
  return {b.one("scatter_elements", {zeros, op.outputs[1], out_grads[0]}, std::move(attrs))};
}

OpDef make_scatter(std::string_view name, const char* reduction) {
  OpDef def;
  def.name = name;
  def.attrs = {{"axis", std::int64_t{0}}, {"reduction", std::string(reduction)}};
  def.min_inputs = def.max_inputs = 3;
  def.infer = scatter_infer;
  def.space = scatter_space;
  def.kernel = scatter_kernel;
  def.cycles = scatter_cycles;
  return def;
}

OpDef make_top() {
  OpDef def;
  def.name = "top_k";
  def.attrs = {{"axis", std::int64_t{-1}}, {"k", std::int64_t{1}}, {"largest", std::int64_t{1}}};
  def.infer = top_infer;
  def.space = top_space;
  def.kernel = top_kernel;
  def.cycles = top_cycles;
  def.gradient = top_gradient;
  return def;
}

}  // namespace

std::vector<const OpDef*> scatter_ops() {
  static const OpDef joins = make_scatter("scatter_join", "mul"), top = make_top();
  static const OpDef writes = [] {
    OpDef def = make_scatter("scatter_elements", "none");
    def.gradient = scatter_gradient;
    return def;
  }();
  return {&writes, &joins, &top};
}

}  // namespace superstep::ops
