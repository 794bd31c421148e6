// SPDX-License-Identifier: Apache-2.0
// gather(table, indices) takes slices of the table along one axis; scatter_add(updates, indices) is
// its gradient. The axis of table rows is an axis of the space: a block of gather adds the rows that
// lie in its range, so that a table split over tiles or IPUs gives partial sums, and a block of
// scatter_add writes only its rows.
//
// What several updates of scatter_add give one element is exact and rounded once, so that their order does not matter.
//
// Axes: b0, ... shared leading dimensions (batch_dims); o0, ... of the table before `axis`; i0, ... of
// the indices; e0, ... of the table after `axis`; then "row".
#include <algorithm>
#include <utility>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/exact_reduce.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

struct Parts {
  std::size_t batch, outer, index, inner;
  std::size_t row() const { return batch + outer + index + inner; }  // number of the row axis
};

void append(Shape& to, const Shape& from, std::size_t begin, std::size_t end) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

std::size_t batch_dims(const OpCall& call) { return static_cast<std::size_t>(call.attrs.integer("batch_dims")); }

std::size_t table_axis(const OpCall& call) {
  return static_cast<std::size_t>(resolve_axis(call.attrs.integer("axis"), call.in[0].shape.size()));
}

// `values` is the gathered tensor: result of gather, operand of scatter_add.
struct LookupLayout {
  Parts parts;
  Space space;
  Projection table, values, indices;
};

LookupLayout make_layout(const Parts& p, const Shape& values, std::int64_t rows) {
  LookupLayout l{p, {}, {}, {}, {}};
  const auto add = [&](char letter, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t axis = l.space.axes.size();
      l.space.axes.push_back({axis_name(letter, i), values[axis], AxisKind::parallel});
    }
  };
  add('b', p.batch);
  add('o', p.outer);
  add('i', p.index);
  add('e', p.inner);
  l.space.axes.push_back({"row", rows, AxisKind::parallel});
  const auto follow_axes = [](Projection& projection, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) projection.push_back({.axis = static_cast<int>(first + i)});
  };
  l.values = identity(p.row());
  follow_axes(l.table, 0, p.batch + p.outer);
  follow_axes(l.table, p.row(), 1);
  follow_axes(l.table, p.row() - p.inner, p.inner);
  follow_axes(l.indices, 0, p.batch);
  follow_axes(l.indices, p.batch + p.outer, p.index);
  l.space.reduction = Reduction::sum;
  l.space.linear = 1;
  return l;
}

LookupLayout gather_layout(const OpCall& call) {
  const std::size_t axis = table_axis(call), batch = batch_dims(call);
  const Parts parts{batch, axis - batch, call.in[1].shape.size() - batch, call.in[0].shape.size() - axis - 1};
  LookupLayout l = make_layout(parts, call.out[0].shape, call.in[0].shape[axis]);
  l.space.axes.back().kind = AxisKind::reduce;
  l.space.in = {l.table, l.indices};
  l.space.out = {l.values};
  return l;
}

LookupLayout scatter_layout(const OpCall& call) {
  const std::size_t axis = static_cast<std::size_t>(call.attrs.integer("axis")), batch = batch_dims(call);
  const std::size_t index = call.in[1].shape.size() - batch;
  const Parts parts{batch, axis - batch, index, call.in[0].shape.size() - axis - index};
  LookupLayout l = make_layout(parts, call.in[0].shape, call.attrs.integer("rows"));
  for (std::size_t i = 0; i < index; ++i) l.space.axes[parts.batch + parts.outer + i].kind = AxisKind::reduce;
  l.space.in = {l.values, l.indices};
  l.space.out = {l.table};
  return l;
}

std::vector<TensorInfo> gather_infer(const OpCall& call) {
  const Shape &table = call.in[0].shape, &indices = call.in[1].shape;
  const std::size_t axis = table_axis(call), batch = batch_dims(call);
  if (batch > axis || batch > indices.size() ||
      !std::equal(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(batch), indices.begin())) {
    throw Error("", "gather of " + to_text(table) + " by " + to_text(indices) + ": batch dimensions differ");
  }
  if (is_float(call.in[1].type)) throw Error("", "gather wants integer indices");
  Shape shape;
  append(shape, table, 0, axis);
  append(shape, indices, batch, indices.size());
  append(shape, table, axis + 1, table.size());
  return {{call.in[0].type, shape}};
}

std::vector<TensorInfo> scatter_infer(const OpCall& call) {
  const Shape &updates = call.in[0].shape, &indices = call.in[1].shape;
  const auto axis = static_cast<std::size_t>(call.attrs.integer("axis"));
  const std::size_t index = indices.size() - batch_dims(call);
  if (updates.size() < axis + index) {
    throw Error("", "scatter_add of " + to_text(updates) + " by " + to_text(indices));
  }
  Shape shape;
  append(shape, updates, 0, axis);
  shape.push_back(call.attrs.integer("rows"));
  append(shape, updates, axis + index, updates.size());
  return {{call.in[0].type, shape}};
}

// Visits every row of inner elements of a block: row(first, n, table_row) with the elements of
// {values, indices, table without its row} and the row that the index names, when the block has it.
template <class Row>
void visit(const LookupLayout& l, const Block& block, std::int64_t rows, const Block& values, const Block& indices,
           const std::byte* index_data, DType index_type, const Block& table, Row&& row) {
  const Strided all[] = {follow(l.values, values, block), follow(l.indices, indices, block),
                         follow(l.table, table, block)};
  Block points(block.begin(), block.end() - 1);
  if (l.parts.inner == 0) points.push_back({0, 1});  // rows of one element
  const Range range = block.back();
  for_each_row(points, all, [&](std::span<const std::int64_t> first, std::int64_t n) {
    auto index = static_cast<std::int64_t>(load_element(index_data, index_type, first[1]));
    if (index < 0) index += rows;  // counted from the end
    if (index < range.begin || index >= range.end) return;
    row(first[0], first[2] + (index - range.begin) * all[2].step.back(), n);
  });
}

std::int64_t inner_step(const LookupLayout& l, const Projection& p, const Block& region, const Block& block) {
  return l.parts.inner == 0 ? 0 : follow(p, region, block).step[l.parts.row() - 1];
}

void gather_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext&) {
  const LookupLayout l = gather_layout(call);
  const std::int64_t rows = l.space.axes.back().extent;
  const std::int64_t from = inner_step(l, l.table, in[0].region, block),
                     to = inner_step(l, l.values, out[0].region, block);
  const bool same = in[0].type == out[0].type;
  visit(l, block, rows, out[0].region, in[1].region, in[1].data, in[1].type, in[0].region,
        [&](std::int64_t value, std::int64_t table, std::int64_t n) {
          // No other block adds to these elements: they are moved bit by bit, with the sign of zero.
          if (same) return copy_row(in[0].data, table, from, out[0].data, value, to, n, size_of(in[0].type));
          for (std::int64_t i = 0; i < n; ++i)
            store_element(out[0].data, out[0].type, value + i * to,
                          load_element(in[0].data, in[0].type, table + i * from));
        });
}

// One update: `n` elements from `value` on go to those from `table` on.
struct Update {
  std::int64_t table, value;
};

// The updates of a block, by the elements of `region` that they go to.
std::vector<Update> updates_of(const LookupLayout& l, const Block& block, std::span<const ConstView> in,
                               const Block& region) {
  std::vector<Update> updates;
  visit(l, block, l.space.axes.back().extent, in[0].region, in[1].region, in[1].data, in[1].type, region,
        [&](std::int64_t value, std::int64_t table, std::int64_t) {
          updates.push_back({table, value});
        });
  std::sort(updates.begin(), updates.end(),
            [](const Update& a, const Update& b) { return std::pair(a.table, a.value) < std::pair(b.table, b.value); });
  return updates;
}

// The elements of one update.
std::int64_t run_of(const LookupLayout& l, const Block& block) {
  return l.parts.inner == 0 ? 1 : block[l.parts.row() - 1].extent();
}

template <class Real>
void store_sums(const LookupLayout& l, const Block& block, std::span<const ConstView> in, const View& out) {
  const std::vector<Update> updates = updates_of(l, block, in, out.region);
  const std::int64_t n = run_of(l, block);
  const std::int64_t from = inner_step(l, l.values, in[0].region, block),
                     to = inner_step(l, l.table, out.region, block);
  for (std::size_t begin = 0, end = 0; begin < updates.size(); begin = end) {
    while (end < updates.size() && updates[end].table == updates[begin].table) ++end;
    for (std::int64_t i = 0; i < n; ++i) {
      numerics::ExactSum<Real> sum;
      for (std::size_t u = begin; u < end; ++u)
        sum.add(static_cast<Real>(load_element(in[0].data, in[0].type, updates[u].value + i * from)));
      store_element(out.data, out.type, updates[begin].table + i * to, sum.to_double_sum());
    }
  }
}

void scatter_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext&) {
  const auto store = sums_are_of_floats(in[0].type, false) ? store_sums<float> : store_sums<double>;
  store(scatter_layout(call), block, in, out[0]);
}

template <class Real>
void add_updates(const LookupLayout& l, const Block& block, std::span<const ConstView> in, const Block& region,
                 std::vector<numerics::ExactSum<Real>>& sums) {
  sums.resize(static_cast<std::size_t>(volume(region)));
  const std::int64_t from = inner_step(l, l.values, in[0].region, block), to = inner_step(l, l.table, region, block);
  visit(l, block, l.space.axes.back().extent, in[0].region, in[1].region, in[1].data, in[1].type, region,
        [&](std::int64_t value, std::int64_t table, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i)
            sums[static_cast<std::size_t>(table + i * to)].add(
                static_cast<Real>(load_element(in[0].data, in[0].type, value + i * from)));
        });
}

void scatter_terms(const OpCall& call, const Block& block, std::span<const ConstView> in, ExactSums& sums) {
  const LookupLayout l = scatter_layout(call);
  if (sums_are_of_floats(in[0].type, false))
    add_updates(l, block, in, sums.region, sums.of_floats);
  else
    add_updates(l, block, in, sums.region, sums.of_doubles);
}

struct Share {
  std::int64_t hits = 1, misses = 0, inner = 1;  // lookups that fall into the block's rows, and that do not
};

// Indices are taken to be spread evenly over the table.
Share share_of(const LookupLayout& l, std::span<const std::int64_t> extents) {
  Share share;
  std::int64_t lookups = 1;
  for (std::size_t a = 0; a < l.parts.row(); ++a) {
    (a < l.parts.row() - l.parts.inner ? lookups : share.inner) *= extents[a];
  }
  const std::int64_t rows = std::max<std::int64_t>(l.space.axes.back().extent, 1);
  share.hits = std::max<std::int64_t>(ceil_div(lookups * extents[l.parts.row()], rows), 1);
  share.misses = std::max<std::int64_t>(lookups - share.hits, 0);
  return share;
}

// multiSlice: 30 + hits (19 + 2 ceil(E / 2)) + misses 8, E in halves; floats move one per step.
Cycles gather_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const Share share = share_of(gather_layout(call), extents);
  const std::int64_t per_hit = 19 + 2 * ceil_div(share.inner * size_of(call.in[0].type), 4);
  return costs.launch + Cycles(costs.workers * (30 + ceil_div(share.hits * per_hit + share.misses * 8, costs.workers)));
}

// multiUpdateAdd: 3 + 30 + 4 + hits (13 + 3 (E / a - 1)) + misses 5, a elements per 32-bit store; after
// the result is filled with zeros, 64 bits a step.
Cycles scatter_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const LookupLayout l = scatter_layout(call);
  const Share share = share_of(l, extents);
  const std::int64_t stores = ceil_div(share.inner * size_of(call.in[0].type), 4);
  const std::int64_t per_hit = 13 + 3 * std::max<std::int64_t>(stores - 1, 0);
  std::int64_t filled = share.inner * extents[l.parts.row()];
  for (std::size_t a = 0; a < l.parts.batch + l.parts.outer; ++a) filled *= extents[a];
  const std::int64_t zeros = ceil_div(filled, costs.workers * lanes(call.in[0].type));
  return costs.launch +
         Cycles(costs.workers * (37 + 26 + zeros + ceil_div(share.hits * per_hit + share.misses * 5, costs.workers)));
}

std::vector<TensorId> gather_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const Op& op = b.graph().ops[id];
  const TensorId table = op.inputs[0], indices = op.inputs[1];
  if (!b.wants(table)) return {TensorId{}, TensorId{}};
  const std::int64_t axis = resolve_axis(op.attrs.integer("axis"), b.info(table).shape.size());
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("batch_dims", op.attrs.integer("batch_dims"));
  attrs.set("rows", b.info(table).shape[static_cast<std::size_t>(axis)]);
  return {b.one("scatter_add", {out_grads[0], indices}, std::move(attrs)), TensorId{}};
}

std::vector<TensorId> scatter_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const Op& op = b.graph().ops[id];
  const TensorId updates = op.inputs[0], indices = op.inputs[1];
  if (!b.wants(updates)) return {TensorId{}, TensorId{}};
  Attributes attrs;
  attrs.set("axis", op.attrs.integer("axis"));
  attrs.set("batch_dims", op.attrs.integer("batch_dims"));
  return {b.one("gather", {out_grads[0], indices}, std::move(attrs)), TensorId{}};
}

OpDef make_gather() {
  OpDef def;
  def.name = "gather";
  def.attrs = {{"axis", std::int64_t{0}}, {"batch_dims", std::int64_t{0}}};
  def.min_inputs = def.max_inputs = 2;
  def.infer = gather_infer;
  def.space = [](const OpCall& call) { return gather_layout(call).space; };
  def.kernel = gather_kernel;
  def.cycles = gather_cycles;
  def.gradient = gather_gradient;
  def.lookup = Lookup::takes;
  def.weight_roles = {WeightRole::matrix, WeightRole::summand};
  return def;
}

OpDef make_scatter_add() {
  OpDef def;
  def.name = "scatter_add";
  def.attrs = {{"axis", std::int64_t{0}}, {"batch_dims", std::int64_t{0}}, {"rows", std::int64_t{1}}};
  def.min_inputs = def.max_inputs = 2;
  def.infer = scatter_infer;
  def.space = [](const OpCall& call) { return scatter_layout(call).space; };
  def.kernel = scatter_kernel;
  def.summation = Summation::exact;
  def.add_terms = scatter_terms;
  def.cycles = scatter_cycles;
  def.gradient = scatter_gradient;
  def.lookup = Lookup::adds;
  return def;
}

}  // namespace

std::vector<const OpDef*> gather_ops() {
  static const OpDef defs[] = {make_gather(), make_scatter_add()};
  return {&defs[0], &defs[1]};
}

}  // namespace superstep::ops
