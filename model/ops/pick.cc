// SPDX-License-Identifier: Apache-2.0
// pick(values, labels): of each row the element that its label names, 0 where there is none; and its
// gradient place(dy, labels): rows of zeros with dy at the label. The class axis may be split: a block
// of pick gives a part of the sum, a block of place its columns.
#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

Space space_of(const Shape& rows, std::int64_t classes) {
  Space s;
  s.axes = axes_of(rows);
  s.axes.push_back({"class", classes, AxisKind::parallel});
  s.linear = 1;
  return s;
}

std::vector<TensorInfo> pick_infer(const OpCall& call) {
  Shape rows = call.in[0].shape;
  if (rows.empty()) throw Error("", "pick wants at least one dimension");
  rows.pop_back();
  if (call.in[1].shape != rows || is_float(call.in[1].type)) {
    throw Error("", "pick of " + to_text(call.in[0].shape) + " wants integer labels " + to_text(rows) + ", not " +
                        to_text(call.in[1].shape));
  }
  return {{call.in[0].type, rows}};
}

Space pick_space(const OpCall& call) {
  const Shape& rows = call.out[0].shape;
  Space s = space_of(rows, call.in[0].shape.back());
  s.axes.back().kind = AxisKind::reduce;
  s.reduction = Reduction::sum;
  s.in = {identity(rows.size() + 1), identity(rows.size())};
  s.out = {identity(rows.size())};
  return s;
}

std::vector<TensorInfo> place_infer(const OpCall& call) {
  if (call.in[0].shape != call.in[1].shape || is_float(call.in[1].type)) {
    throw Error("", "place wants integer labels of shape " + to_text(call.in[0].shape));
  }
  TensorInfo result = call.in[0];
  result.shape.push_back(call.attrs.integer("classes"));
  return {result};
}

Space place_space(const OpCall& call) {
  const Shape& rows = call.in[0].shape;
  Space s = space_of(rows, call.attrs.integer("classes"));
  s.in = {identity(rows.size()), identity(rows.size())};
  s.out = {identity(rows.size() + 1)};
  return s;
}

void pick_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext&) {
  const Space s = pick_space(call);
  Block rows = block;
  const Range classes = rows.back();
  rows.back() = {0, 1};
  const Strided all[] = {follow(s.in[0], in[0].region, block), follow(s.in[1], in[1].region, block),
                         follow(s.out[0], out[0].region, block)};
  for_each_row(rows, all, [&](std::span<const std::int64_t> first, std::int64_t) {
    const auto label = static_cast<std::int64_t>(load_element(in[1].data, in[1].type, first[1]));
    if (label < classes.begin || label >= classes.end) return;
    const std::int64_t at = first[0] + (label - classes.begin) * all[0].step.back();
    combine(out[0].data, out[0].type, first[2], load_element(in[0].data, in[0].type, at), Reduction::sum);
  });
}

void place_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                  const KernelContext&) {
  const Space s = place_space(call);
  const Range classes = block.back();
  const Strided all[] = {follow(s.in[0], in[0].region, block), follow(s.in[1], in[1].region, block),
                         follow(s.out[0], out[0].region, block)};
  for_each_row(block, all, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      store_element(out[0].data, out[0].type, first[2] + i * all[2].step.back(), 0);
    }
    const auto label = static_cast<std::int64_t>(load_element(in[1].data, in[1].type, first[1]));
    if (label < classes.begin || label >= classes.end) return;
    const std::int64_t at = first[2] + (label - classes.begin) * all[2].step.back();
    store_element(out[0].data, out[0].type, at, load_element(in[0].data, in[0].type, first[0]));
  });
}

// One dynamic slice of one element per row: 39 + 24 per slice.
Cycles pick_cycles(const TileCosts& costs, const OpCall&, std::span<const std::int64_t> extents) {
  return costs.launch + Cycles(costs.workers * (39 + 24 * ceil_div(rows_of(extents).rows, costs.workers)));
}

// one-hot: 74 per index; fill: 26 + N / 4 (half) or N / 2 per worker.
Cycles place_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  const std::int64_t fill = ceil_div(ceil_div(rows * columns, costs.workers), lanes(call.in[0].type));
  return costs.launch + Cycles(costs.workers * (26 + fill) + 74 * rows);
}

std::vector<TensorId> pick_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const TensorId values = b.graph().ops[id].inputs[0], labels = b.graph().ops[id].inputs[1];
  if (!b.wants(values)) return {TensorId{}, TensorId{}};
  Attributes attrs;
  attrs.set("classes", b.info(values).shape.back());
  return {b.one("place", {out_grads[0], labels}, std::move(attrs)), TensorId{}};
}

std::vector<TensorId> place_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const TensorId values = b.graph().ops[id].inputs[0], labels = b.graph().ops[id].inputs[1];
  if (!b.wants(values)) return {TensorId{}, TensorId{}};
  return {b.one("pick", {out_grads[0], labels}), TensorId{}};
}

OpDef make_pick() {
  OpDef def;
  def.name = "pick";
  def.min_inputs = def.max_inputs = 2;
  def.infer = pick_infer;
  def.space = pick_space;
  def.kernel = pick_kernel;
  def.cycles = pick_cycles;
  def.gradient = pick_gradient;
  def.lookup = Lookup::takes;
  return def;
}

OpDef make_place() {
  OpDef def;
  def.name = "place";
  def.attrs = {{"classes", std::int64_t{1}}};
  def.min_inputs = def.max_inputs = 2;
  def.infer = place_infer;
  def.space = place_space;
  def.kernel = place_kernel;
  def.cycles = place_cycles;
  def.gradient = place_gradient;
  return def;
}

}  // namespace

std::vector<const OpDef*> pick_ops() {
  static const OpDef defs[] = {make_pick(), make_place()};
  return {&defs[0], &defs[1]};
}

}  // namespace superstep::ops
