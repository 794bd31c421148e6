// SPDX-License-Identifier: Apache-2.0
#include "model/ops/matmul.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/amp_vertex.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"
#include "model/ops/product.h"

namespace superstep {

namespace ops {

namespace {

bool flag(const OpCall& call, std::string_view name) { return call.attrs.integer(name) != 0; }

// Row and contracted extents of a, contracted and column extents of b.
struct Inner {
  std::int64_t m, ka, kb, n;
};
Inner inner_extents(const OpCall& call) {
  const Shape &a = call.in[0].shape, &b = call.in[1].shape;
  Inner inner{a[a.size() - 2], a[a.size() - 1], b[b.size() - 2], b[b.size() - 1]};
  if (flag(call, "transpose_a")) std::swap(inner.m, inner.ka);
  if (flag(call, "transpose_b")) std::swap(inner.kb, inner.n);
  return inner;
}

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

std::vector<TensorInfo> infer_matmul(const OpCall& call) {
  const Shape &a = call.in[0].shape, &b = call.in[1].shape;
  if (a.size() < 2 || b.size() < 2) {
    throw Error("", "matmul of " + to_text(a) + " and " + to_text(b) + ": rank below 2");
  }
  const Inner inner = inner_extents(call);
  if (inner.ka != inner.kb) {
    throw Error("", "matmul of " + to_text(a) + " and " + to_text(b) + ": contracted extents differ");
  }
  Shape result = broadcast(leading(a), leading(b));
  result.push_back(inner.m);
  result.push_back(inner.n);
  return {{call.in[0].type, result}};
}

// Which operands a leading dimension of the result (aligned at the end) comes from.
enum class From { both, a, b, neither };
std::vector<From> origin(const OpCall& call) {
  const Shape a = leading(call.in[0].shape), b = leading(call.in[1].shape);
  const std::size_t rank = std::max(a.size(), b.size());
  std::vector<From> from(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t ea = d + a.size() < rank ? 1 : a[d + a.size() - rank];
    const std::int64_t eb = d + b.size() < rank ? 1 : b[d + b.size() - rank];
    from[d] = ea == eb ? (ea == 1 ? From::neither : From::both) : ea == 1 ? From::b : From::a;
  }
  return from;
}

struct MatmulLayout {
  std::vector<From> from;    // per leading dimension
  std::vector<int> axis;     // its axis, -1 where the extent is 1
  std::vector<char> letter;  // of each leading axis
  std::vector<std::int64_t> extent;
  int m = 0, n = 0, k = 0;
};

MatmulLayout matmul_layout(const OpCall& call) {
  MatmulLayout l;
  l.from = origin(call);
  l.axis.assign(l.from.size(), -1);
  const Shape a = leading(call.in[0].shape), b = leading(call.in[1].shape);
  const auto add = [&](From wanted, char letter) {
    for (std::size_t d = 0; d < l.from.size(); ++d) {
      if (l.from[d] != wanted) continue;
      l.axis[d] = static_cast<int>(l.letter.size());
      l.letter.push_back(letter);
      l.extent.push_back(wanted == From::b ? b[d + b.size() - l.from.size()] : a[d + a.size() - l.from.size()]);
    }
  };
  add(From::both, 'b');
  add(From::a, 'm');
  add(From::b, 'n');
  l.m = static_cast<int>(l.letter.size());
  l.n = l.m + 1;
  l.k = l.m + 2;
  return l;
}

Projection operand(const MatmulLayout& l, std::size_t rank, From own, int row_axis, int column_axis, bool transposed) {
  Projection p(rank);
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    const std::size_t of_result = d + l.from.size() + 2 - rank;
    if (l.from[of_result] == From::both || l.from[of_result] == own) p[d].axis = l.axis[of_result];
  }
  p[rank - 2].axis = transposed ? column_axis : row_axis;
  p[rank - 1].axis = transposed ? row_axis : column_axis;
  return p;
}

Space matmul_space(const OpCall& call) {
  const MatmulLayout l = matmul_layout(call);
  const Inner inner = inner_extents(call);
  Space s;
  std::size_t counts[256] = {};
  for (std::size_t i = 0; i < l.letter.size(); ++i) {
    const char c = l.letter[i];
    s.axes.push_back({axis_name(c, counts[static_cast<unsigned char>(c)]++), l.extent[i], AxisKind::parallel});
  }
  s.axes.push_back({"m", inner.m, AxisKind::parallel});
  s.axes.push_back({"n", inner.n, AxisKind::parallel});
  s.axes.push_back({"k", inner.ka, AxisKind::reduce});
  s.in = {operand(l, call.in[0].shape.size(), From::a, l.m, l.k, flag(call, "transpose_a")),
          operand(l, call.in[1].shape.size(), From::b, l.k, l.n, flag(call, "transpose_b"))};
  Projection result(l.from.size() + 2);
  for (std::size_t d = 0; d < l.from.size(); ++d) result[d].axis = l.axis[d];
  result[l.from.size()].axis = l.m;
  result[l.from.size() + 1].axis = l.n;
  s.out = {result};
  s.reduction = Reduction::sum;
  s.linear = 1;
  return s;
}

// A loop over one axis of the block and what a step of it moves in each array.
struct Loop {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0, c = 0;
  bool continues(const Loop& inner) const {
    return a == inner.a * inner.extent && b == inner.b * inner.extent && c == inner.c * inner.extent;
  }
};

// The loops of a block: rows, columns and steps of one product, and leading ones, outermost first, of which those that
// continue rows, columns or each other are one.
struct Loops {
  Loop rows, columns, steps;
  std::vector<Loop> leading;

  Loops(const Space& s, const Block& block, const Block& a, const Block& b, const Block& c) {
    const Strided in_a = follow(s.in[0], a, block), in_b = follow(s.in[1], b, block), in_c = follow(s.out[0], c, block);
    std::vector<Loop> all;
    for (std::size_t i = 0; i < block.size(); ++i)
      all.push_back({block[i].extent(), in_a.step[i], in_b.step[i], in_c.step[i]});
    const std::size_t lead = block.size() - 3;
    rows = all[lead], columns = all[lead + 1], steps = all[lead + 2];
    for (std::size_t i = lead; i-- > 0;) add(all[i]);
    std::reverse(leading.begin(), leading.end());
  }

 private:
  // From the inside out.
  void add(const Loop& loop) {
    if (loop.extent == 1) return;
    if (loop.b == 0 && loop.continues(rows))
      rows.extent *= loop.extent;
    else if (loop.a == 0 && loop.continues(columns))
      columns.extent *= loop.extent;
    else if (!leading.empty() && loop.continues(leading.back()))
      leading.back().extent *= loop.extent;
    else
      leading.push_back(loop);
  }
};

template <class T>
void multiply(const Loops& loops, const ContractionPart& part, const T* a, const T* b, numerics::SumOf<T>* c,
              const KernelContext& context) {
  std::vector<Loop> outer = loops.leading;
  const Loop batch = outer.empty() ? Loop{} : outer.back();
  if (!outer.empty()) outer.pop_back();
  const numerics::Product product{batch.extent, loops.rows.extent, loops.columns.extent, part.tree,
                                  part.node,    context.partials,  context.overflow,     context.blas};
  const auto run = [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_c) {
    run_product<T>(context, product, {a + at_a, loops.rows.a, loops.steps.a, batch.a},
                   {b + at_b, loops.steps.b, loops.columns.b, batch.b},
                   {c + at_c, loops.rows.c, loops.columns.c, batch.c});
  };
  Block points{{0, 1}};
  Strided at[3];
  for (const Loop& loop : outer) {
    points.insert(points.end() - 1, {0, loop.extent});
    at[0].step.push_back(loop.a), at[1].step.push_back(loop.b), at[2].step.push_back(loop.c);
  }
  for_each_row(points, at,
               [&](std::span<const std::int64_t> first, std::int64_t) { run(first[0], first[1], first[2]); });
}

// Of integers, which wrap around in their type.
void multiply_integers(const OpCall& call, const Space& s, const Block& block, std::span<const ConstView> in,
                       const View& out) {
  const Block result = project(s.out[0], call.out[0].shape, block);
  const Strided stored[] = {follow(identity(result.size()), out.region, result)};
  for_each_row(result, stored, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const std::int64_t step = result.empty() ? 0 : stored[0].step.back();
    for (std::int64_t i = 0; i < n; ++i) store_integer(out.data, out.type, first[0] + i * step, 0);
  });
  const Strided all[] = {follow(s.in[0], in[0].region, block), follow(s.in[1], in[1].region, block),
                         follow(s.out[0], out.region, block)};
  for_each_row(block, all, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = [&](std::size_t k) { return first[k] + (block.empty() ? 0 : i * all[k].step.back()); };
      const auto x = static_cast<std::uint64_t>(load_integer(in[0].data, in[0].type, at(0)));
      const auto y = static_cast<std::uint64_t>(load_integer(in[1].data, in[1].type, at(1)));
      const auto sum = static_cast<std::uint64_t>(load_integer(out.data, out.type, at(2)));
      store_integer(out.data, out.type, at(2), static_cast<std::int64_t>(sum + x * y));
    }
  });
}

void matmul_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext& context) {
  const Space s = matmul_space(call);
  if (is_integer(in[0].type) && is_integer(in[1].type) && is_integer(out[0].type))
    return multiply_integers(call, s, block, in, out[0]);
  with_product_type(in[0].type, in[1].type, [&]<class T>(T) {
    const OperandValues<T> a(in[0]), b(in[1]);
    ResultValues<numerics::SumOf<T>> c(out[0], project(s.out[0], call.out[0].shape, block));
    const Loops loops(s, block, in[0].region, in[1].region, c.region());
    const std::int64_t at_a = follow(s.in[0], in[0].region, block).base;
    const std::int64_t at_b = follow(s.in[1], in[1].region, block).base;
    multiply(loops, part_of(context, loops.steps.extent), a.data() + at_a, b.data() + at_b, c.data(), context);
    c.keep();
  });
}

ProductAxes matmul_product_axes(const OpCall& call) {
  const MatmulLayout l = matmul_layout(call);
  ProductAxes axes{{}, {}, {}, {l.k}};
  for (std::size_t i = 0; i < l.letter.size(); ++i) {
    (l.letter[i] == 'b' ? axes.batch : l.letter[i] == 'm' ? axes.rows : axes.columns).push_back(static_cast<int>(i));
  }
  axes.rows.push_back(l.m);
  axes.columns.push_back(l.n);
  return axes;
}

// For a weight's gradient both: samples and positions are contracted.
std::uint32_t turned_matmul_operands(const OpCall& call, ProductUse use) {
  if (use.weight_gradient) return 3;
  return (flag(call, "transpose_a") ? 1u : 0u) | (flag(call, "transpose_b") ? 2u : 0u);
}

constexpr ProductDef kMatmulProduct{matmul_product_axes, turned_matmul_operands, nullptr};

// Leading dimensions are aligned at the end.
Space full_space(const OpCall& call) {
  Space s = matmul_space(call);
  const std::size_t rank = s.out[0].size();
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (s.out[0][d].axis >= 0 || call.out[0].shape[d] != 1) continue;
    const int axis = static_cast<int>(s.axes.size());
    s.axes.push_back({"one", 1, AxisKind::parallel});
    s.out[0][d].axis = axis;
    for (Projection& operand : s.in) {
      if (d + operand.size() >= rank) operand[d + operand.size() - rank].axis = axis;
    }
  }
  return s;
}

Cycles matmul_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const ProductAxes axes = matmul_product_axes(call);
  MatmulDims share;
  for (int axis : axes.batch) share.batch *= extents[static_cast<std::size_t>(axis)];
  for (int axis : axes.rows) share.rows *= extents[static_cast<std::size_t>(axis)];
  for (int axis : axes.columns) share.columns *= extents[static_cast<std::size_t>(axis)];
  share.contracted = extents[static_cast<std::size_t>(axes.contracted[0])];
  return matrix_unit_cycles(costs, call.in[0].type, share);
}

struct Operands {
  TensorId a, b;
  bool ta, tb;
};

// Sums a gradient over the leading dimensions that its operand was broadcast along.
TensorId to_shape(GraphBuilder& g, TensorId gradient, TensorId like) {
  const Shape shape = g.info(like).shape;
  return g.sum_to(gradient, shape);
}

TensorId gradient_of_a(GraphBuilder& g, const Operands& o, TensorId dy) {
  return to_shape(g, o.ta ? g.matmul(o.b, dy, o.tb, true) : g.matmul(dy, o.b, false, !o.tb), o.a);
}

// All rows of `t`, those of one sample next to each other: sums over them then begin with the first sample's.
TensorId rows_by_sample(GraphBuilder& g, TensorId t, SamplePlace samples) {
  const Shape& shape = g.info(t).shape;
  std::int64_t before = samples.outer;
  for (int d = 0; d < samples.at; ++d) before *= shape[static_cast<std::size_t>(d)];
  const std::int64_t columns = shape.back();
  if (before > 1) t = g.transpose(g.reshape(t, {before, -1, columns}), {1, 0, 2});
  return g.reshape(t, {-1, columns});
}

// A weight shared by all leading dimensions: one product over all rows instead of one per leading
// index and a sum.
TensorId gradient_of_shared_b(GraphBuilder& g, const Operands& o, TensorId dy, SamplePlace samples) {
  const TensorId a = rows_by_sample(g, o.a, samples);
  dy = rows_by_sample(g, dy, samples);
  return o.tb ? g.matmul(dy, a, true, false) : g.matmul(a, dy, true, false);
}

TensorId gradient_of_b(GraphBuilder& g, const Operands& o, TensorId dy) {
  const std::size_t rank = g.info(o.a).shape.size();
  SamplePlace samples = g.place_of_samples(o.a).value_or(SamplePlace{});
  if (static_cast<std::size_t>(samples.at) + 1 == rank) samples = {};  // among the columns: not summed over
  const bool one_product = rank > 2 || samples.outer > 1;
  if (g.info(o.b).shape.size() == 2 && one_product && !o.ta) return gradient_of_shared_b(g, o, dy, samples);
  return to_shape(g, o.tb ? g.matmul(dy, o.a, true, o.ta) : g.matmul(o.a, dy, !o.ta, false), o.b);
}

std::vector<TensorId> matmul_gradient(GraphBuilder& g, OpId id, std::span<const TensorId> out_grads) {
  const Op& op = g.graph().ops[id];
  const Operands o{op.inputs[0], op.inputs[1], op.attrs.integer("transpose_a") != 0,
                   op.attrs.integer("transpose_b") != 0};
  std::vector<TensorId> grads(2);
  if (g.wants(o.a)) grads[0] = gradient_of_a(g, o, out_grads[0]);
  if (g.wants(o.b)) grads[1] = gradient_of_b(g, o, out_grads[0]);
  return grads;
}

OpDef make_matmul() {
  OpDef def;
  def.name = "matmul";
  def.attrs = {{"transpose_a", std::int64_t{0}}, {"transpose_b", std::int64_t{0}}};
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer_matmul;
  def.space = matmul_space;
  def.kernel = matmul_kernel;
  def.summation = Summation::contraction;
  def.cycles = matmul_cycles;
  def.gradient = matmul_gradient;
  def.product = &kMatmulProduct;
  def.weight_roles = {WeightRole::matrix};
  def.linear_in = linear_in_one;
  def.full_space = full_space;
  def.vertex_code = Bytes(4096);  // estimated: supervisor and worker code of one AMP vertex
  return def;
}

}  // namespace

std::vector<const OpDef*> matmul_ops() {
  static const OpDef matmul = make_matmul();
  return {&matmul};
}

}  // namespace ops

MatmulDims matmul_dims(const OpCall& call) {
  const ops::MatmulLayout l = ops::matmul_layout(call);
  const ops::Inner inner = ops::inner_extents(call);
  MatmulDims dims{1, inner.m, inner.n, inner.ka};
  for (std::size_t i = 0; i < l.letter.size(); ++i) {
    (l.letter[i] == 'b' ? dims.batch : l.letter[i] == 'm' ? dims.rows : dims.columns) *= l.extent[i];
  }
  return dims;
}

Cycles matrix_unit_cycles(const TileCosts& costs, DType type, const MatmulDims& share) {
  const DType operands = size_of(type) <= 2 ? DType::fp16 : DType::fp32;
  const std::int64_t block = std::max<std::int64_t>(costs.amp.block_channels, 1);
  const AmpVertex vertex(costs.amp, costs.workers, operands, operands);
  return Cycles(
      vertex.cycles({share.batch, share.rows, ceil_div(share.columns, block), ceil_div(share.contracted, block)}));
}

}  // namespace superstep
