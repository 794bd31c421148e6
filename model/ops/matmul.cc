// SPDX-License-Identifier: Apache-2.0
#include "model/ops/matmul.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep {

namespace {

using namespace ops;

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

std::vector<TensorInfo> infer(const OpCall& call) {
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

struct Layout {
  std::vector<From> from;    // per leading dimension
  std::vector<int> axis;     // its axis, -1 where the extent is 1
  std::vector<char> letter;  // of each leading axis
  std::vector<std::int64_t> extent;
  int m = 0, n = 0, k = 0;
};

Layout layout(const OpCall& call) {
  Layout l;
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

Projection operand(const Layout& l, std::size_t rank, From own, int row_axis, int column_axis, bool transposed) {
  Projection p(rank);
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    const std::size_t of_result = d + l.from.size() + 2 - rank;
    if (l.from[of_result] == From::both || l.from[of_result] == own) p[d].axis = l.axis[of_result];
  }
  p[rank - 2].axis = transposed ? column_axis : row_axis;
  p[rank - 1].axis = transposed ? row_axis : column_axis;
  return p;
}

Space space(const OpCall& call) {
  const Layout l = layout(call);
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

// One operand's values for one point of the leading axes, as rows of `columns`.
void load_matrix(const ConstView& view, const Strided& strided, std::int64_t base, std::size_t row_axis,
                 std::size_t column_axis, std::int64_t rows, std::int64_t columns, std::vector<double>& to) {
  to.resize(static_cast<std::size_t>(rows * columns));
  const std::int64_t down = strided.step[row_axis], across = strided.step[column_axis];
  if (across <= down) {
    for (std::int64_t r = 0; r < rows; ++r) {
      load_row(view.data, view.type, base + r * down, across, columns, to.data() + r * columns);
    }
    return;
  }
  std::vector<double> column(static_cast<std::size_t>(rows));  // transposed: read along memory
  for (std::int64_t c = 0; c < columns; ++c) {
    load_row(view.data, view.type, base + c * across, down, rows, column.data());
    for (std::int64_t r = 0; r < rows; ++r)
      to[static_cast<std::size_t>(r * columns + c)] = column[static_cast<std::size_t>(r)];
  }
}

void multiply(const double* a, const double* b, double* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = a[i * k + p];
      const double* row = b + p * n;
      double* result = c + i * n;
      for (std::int64_t j = 0; j < n; ++j) result[j] += factor * row[j];
    }
  }
}

void kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
            const KernelContext&) {
  const Space s = space(call);
  const std::size_t lead = s.axes.size() - 3;
  const std::int64_t m = block[lead].extent(), n = block[lead + 1].extent(), k = block[lead + 2].extent();
  const Strided operands[] = {follow(s.in[0], in[0].region, block), follow(s.in[1], in[1].region, block),
                              follow(s.out[0], out[0].region, block)};
  // One row per point of the leading axes: a block whose last axis is one step long.
  Block points(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(lead));
  points.push_back({0, 1});
  std::vector<double> a, b, c;
  std::int64_t loaded_b = -1;
  for_each_row(points, operands, [&](std::span<const std::int64_t> first, std::int64_t) {
    load_matrix(in[0], operands[0], first[0], lead, lead + 2, m, k, a);
    if (loaded_b != first[1]) load_matrix(in[1], operands[1], first[1], lead + 2, lead + 1, k, n, b);
    loaded_b = first[1];
    c.assign(static_cast<std::size_t>(m * n), 0);
    multiply(a.data(), b.data(), c.data(), m, n, k);
    for (std::int64_t i = 0; i < m * n; ++i) {
      const std::int64_t at = first[2] + i / n * operands[2].step[lead] + i % n * operands[2].step[lead + 1];
      combine(out[0].data, out[0].type, at, c[static_cast<std::size_t>(i)], Reduction::sum);
    }
  });
}

Cycles cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const MatmulAxes axes = matmul_axes(call);
  MatmulDims share;
  for (int axis : axes.batch) share.batch *= extents[static_cast<std::size_t>(axis)];
  for (int axis : axes.rows) share.rows *= extents[static_cast<std::size_t>(axis)];
  for (int axis : axes.columns) share.columns *= extents[static_cast<std::size_t>(axis)];
  share.contracted = extents[static_cast<std::size_t>(axes.contracted)];
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

// A weight shared by all leading dimensions: one product over all rows instead of one per leading
// index and a sum.
TensorId gradient_of_shared_b(GraphBuilder& g, const Operands& o, TensorId dy) {
  const TensorId a = g.reshape(o.a, {-1, g.info(o.a).shape.back()});
  dy = g.reshape(dy, {-1, g.info(dy).shape.back()});
  return o.tb ? g.matmul(dy, a, true, false) : g.matmul(a, dy, true, false);
}

TensorId gradient_of_b(GraphBuilder& g, const Operands& o, TensorId dy) {
  if (g.info(o.b).shape.size() == 2 && g.info(o.a).shape.size() > 2 && !o.ta) return gradient_of_shared_b(g, o, dy);
  return to_shape(g, o.tb ? g.matmul(dy, o.a, true, o.ta) : g.matmul(o.a, dy, !o.ta, false), o.b);
}

std::vector<TensorId> gradient(GraphBuilder& g, OpId id, std::span<const TensorId> out_grads) {
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
  def.infer = infer;
  def.space = space;
  def.kernel = kernel;
  def.cycles = cycles;
  def.gradient = gradient;
  def.uses_amp = true;
  def.vertex_code = Bytes(4096);  // estimated: supervisor and worker code of one AMP vertex
  return def;
}

}  // namespace

MatmulAxes matmul_axes(const OpCall& call) {
  const Layout l = layout(call);
  MatmulAxes axes;
  for (std::size_t i = 0; i < l.letter.size(); ++i) {
    (l.letter[i] == 'b' ? axes.batch : l.letter[i] == 'm' ? axes.rows : axes.columns).push_back(static_cast<int>(i));
  }
  axes.rows.push_back(l.m);
  axes.columns.push_back(l.n);
  axes.contracted = l.k;
  return axes;
}

MatmulDims matmul_dims(const OpCall& call) {
  const Layout l = layout(call);
  const Inner inner = inner_extents(call);
  MatmulDims dims{1, inner.m, inner.n, inner.ka};
  for (std::size_t i = 0; i < l.letter.size(); ++i) {
    (l.letter[i] == 'b' ? dims.batch : l.letter[i] == 'm' ? dims.rows : dims.columns) *= l.extent[i];
  }
  return dims;
}

Cycles matrix_unit_cycles(const TileCosts& costs, DType type, const MatmulDims& share) {
  const Amp& amp = costs.amp;
  const std::int64_t block = std::max<std::int64_t>(amp.block_channels, 1);
  const std::int64_t rate = size_of(type) <= 2 ? amp.fp16_16_macs_per_cycle : amp.fp32_macs_per_cycle;
  const std::int64_t row_cycles = ceil_div(block * block, std::max<std::int64_t>(rate, 1));
  const std::int64_t blocks = share.batch * ceil_div(share.columns, block) * ceil_div(share.contracted, block);
  // The workers take whole rows, so rows count in multiples of the workers.
  const Cycles rows(blocks * row_cycles * round_up(share.rows, costs.workers));
  return rows + amp.block_fixed * blocks + amp.call_fixed;
}

namespace ops {
std::vector<const OpDef*> matmul_ops() {
  static const OpDef matmul = make_matmul();
  return {&matmul};
}
}  // namespace ops

}  // namespace superstep
