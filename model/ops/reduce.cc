// SPDX-License-Identifier: Apache-2.0
// reduce: sum, sum of squares, maximum, minimum or product over axes, times a factor (means). Sums, of squares too, are
// exact: rounded to double, multiplied by the factor and rounded to the result's type. Of floats the squares are exact
// as well, those of doubles rounded. A NaN makes an extremum NaN, and +0 is above -0: no result depends on an order.
//
// mean 1: `scale` is one over the number of elements that are summed. across: 0, or the result is a statistic of a
// group of samples (batch norm) that lies within the micro-batch (1) or goes on over so many consecutive replicas,
// whose results are to be summed; a mean's scale is then one over the elements of the whole group.
#include <algorithm>
#include <bit>
#include <limits>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/exact_reduce.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

enum class Kind { sum, sum_square, max, min, prod };

Kind kind_of(const OpCall& call) {
  const std::string& kind = call.attrs.text("kind");
  if (kind == "sum") return Kind::sum;
  if (kind == "sum_square") return Kind::sum_square;
  if (kind == "max") return Kind::max;
  if (kind == "min") return Kind::min;
  if (kind == "prod") return Kind::prod;
  throw Error("", "unknown reduction \"" + kind + "\"");
}

std::vector<bool> reduced_dimensions(const OpCall& call) {
  const std::size_t rank = call.in[0].shape.size();
  std::vector<bool> reduced(rank);
  for (std::int64_t axis : call.attrs.integers("axes")) {
    reduced[static_cast<std::size_t>(resolve_axis(axis, rank))] = true;
  }
  return reduced;
}

std::vector<TensorInfo> infer_reduce(const OpCall& call) {
  kind_of(call);
  const std::vector<bool> reduced = reduced_dimensions(call);
  const std::string& type = call.attrs.text("type");
  TensorInfo result{type.empty() ? call.in[0].type : parse_type(type), {}};
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) result.shape.push_back(call.in[0].shape[d]);
    if (reduced[d] && call.attrs.integer("keep")) result.shape.push_back(1);
  }
  return {result};
}

Space reduce_space(const OpCall& call) {
  const Kind kind = kind_of(call);
  const std::vector<bool> reduced = reduced_dimensions(call);
  const bool keep = call.attrs.integer("keep") != 0;
  Space s;
  s.axes = axes_of(call.in[0].shape);
  s.in = {identity(reduced.size())};
  s.out.emplace_back();
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) s.axes[d].kind = kind == Kind::prod ? AxisKind::whole : AxisKind::reduce;
    if (!reduced[d]) s.out[0].push_back({.axis = static_cast<int>(d)});
    if (reduced[d] && keep) s.out[0].push_back({});
  }
  s.reduction = kind == Kind::max    ? Reduction::max
                : kind == Kind::min  ? Reduction::min
                : kind == Kind::prod ? Reduction::none
                                     : Reduction::sum;
  s.linear = kind == Kind::sum ? 1 : 0;
  return s;
}

template <class Step>
void accumulate(const double* row, std::int64_t n, double* total, std::int64_t step, Step combine_two) {
  for (std::int64_t i = 0; i < n; ++i) total[i * step] = combine_two(total[i * step], row[i]);
}

void accumulate(Kind kind, const double* row, std::int64_t n, double* total, std::int64_t step) {
  if (kind == Kind::prod) return accumulate(row, n, total, step, [](double t, double x) { return t * x; });
  if (kind == Kind::max) return accumulate(row, n, total, step, larger);
  accumulate(row, n, total, step, [](double t, double x) { return -larger(-t, -x); });
}

double start_of(Kind kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return kind == Kind::max ? -kInfinity : kind == Kind::min ? kInfinity : 1;
}

// Floats in an order of their bits in which -0 is below +0; with NaN the maximum is NaN.
float largest(const float* row, std::int64_t n, bool negated) {
  if (n == 0) return (negated ? 1 : -1) * std::numeric_limits<float>::infinity();
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  std::uint32_t magnitude = 0;
  const std::uint32_t sign = negated ? 0x80000000u : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(row[i]) ^ sign);
    highest = std::max(highest, bits ^ ((bits >> 31) & 0x7fffffff));
    magnitude = std::max(magnitude, static_cast<std::uint32_t>(bits) & 0x7fffffffu);
  }
  if (magnitude > 0x7f800000u) return std::numeric_limits<float>::quiet_NaN();
  const auto bits = static_cast<std::uint32_t>(highest ^ ((highest >> 31) & 0x7fffffff));
  return std::bit_cast<float>(bits ^ sign);
}

// Maxima and minima of rows of floats.
void extremes_of_rows(const SumLoops& loops, const float* in, bool minimum, const View& out, numerics::Team& team) {
  const std::int64_t n = loops.summed[0].extent;
  std::int64_t rows = 1;
  for (const SumLoop& loop : loops.kept) rows *= loop.extent;
  team.run([&](int member, numerics::Workspace&) {
    for (std::int64_t row = rows * member / team.size(); row < rows * (member + 1) / team.size(); ++row) {
      std::int64_t from = loops.in, to = loops.out, rest = row;
      for (std::size_t i = loops.kept.size(); i-- > 0; rest /= loops.kept[i].extent) {
        from += rest % loops.kept[i].extent * loops.kept[i].in;
        to += rest % loops.kept[i].extent * loops.kept[i].out;
      }
      combine(out.data, out.type, to, largest(in + from, n, minimum), minimum ? Reduction::min : Reduction::max);
    }
  });
}

std::int64_t join_integers(Kind kind, DType type, std::int64_t total, std::int64_t x) {
  const auto a = static_cast<std::uint64_t>(total), b = static_cast<std::uint64_t>(x);
  if (kind == Kind::max || kind == Kind::min) return extremum(type, total, x, kind == Kind::max);
  return static_cast<std::int64_t>(kind == Kind::sum ? a + b : kind == Kind::sum_square ? a + b * b : a * b);
}

// Integers, whose sums and products wrap around in their type. Results hold what other blocks gave, or the reduction's
// identity; those of a product hold nothing.
void reduce_integers(const OpCall& call, const Space& s, const Block& block, const ConstView& in, const View& out) {
  const Kind kind = kind_of(call);
  if (kind == Kind::prod) {
    const Block result = project(s.out[0], call.out[0].shape, block);
    const Strided stored[] = {follow(identity(result.size()), out.region, result)};
    for_each_row(result, stored, [&](std::span<const std::int64_t> first, std::int64_t n) {
      const std::int64_t step = result.empty() ? 0 : stored[0].step.back();
      for (std::int64_t i = 0; i < n; ++i) store_integer(out.data, out.type, first[0] + i * step, 1);
    });
  }
  const Strided operands[] = {follow(s.in[0], in.region, block), follow(s.out[0], out.region, block)};
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return block.empty() ? 0 : operands[i].step.back(); };
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = first[1] + i * step(1), x = load_integer(in.data, in.type, first[0] + i * step(0));
      store_integer(out.data, out.type, to, join_integers(kind, out.type, load_integer(out.data, out.type, to), x));
    }
  });
}

void reduce_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext& context) {
  const Space s = reduce_space(call);
  const Kind kind = kind_of(call);
  if (is_integer(in[0].type) && is_integer(out[0].type) && call.attrs.number("scale") == 1)
    return reduce_integers(call, s, block, in[0], out[0]);
  SumLoops loops = sum_loops(s, block, in[0].region, out[0].region);
  loops.squares = kind == Kind::sum_square;
  const auto team = [&]() -> numerics::Team& { return team_of(context, static_cast<double>(volume(block))); };
  if (s.reduction == Reduction::sum) return sum_into(loops, in[0], call, out[0], team());
  const double scale = call.attrs.number("scale");
  const bool rows_of_floats = in[0].type == DType::fp32 && loops.summed.size() == 1 && loops.summed[0].in == 1;
  if (kind != Kind::prod && scale == 1 && rows_of_floats) {
    const auto* values = reinterpret_cast<const float*>(in[0].data);
    return extremes_of_rows(loops, values, kind == Kind::min, out[0], team());
  }
  const Block result = project(s.out[0], call.out[0].shape, block);
  const Strided operands[] = {follow(s.in[0], in[0].region, block), follow(s.out[0], result, block)};
  std::vector<double> totals(static_cast<std::size_t>(volume(result)), start_of(kind));
  std::vector<double> row(block.empty() ? 1 : static_cast<std::size_t>(block.back().extent()));
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return block.empty() ? 0 : operands[i].step.back(); };
    load_row(in[0].data, in[0].type, first[0], step(0), n, row.data());
    accumulate(kind, row.data(), n, totals.data() + first[1], step(1));
  });

  const Strided stored[] = {follow(identity(result.size()), out[0].region, result)};
  std::size_t next = 0;
  for_each_row(result, stored, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = first[0] + i * (result.empty() ? 0 : stored[0].step.back());
      combine(out[0].data, out[0].type, at, totals[next++] * scale, s.reduction);
    }
  });
}

void add_terms(const OpCall& call, const Block& block, std::span<const ConstView> in, ExactSums& sums) {
  const bool squares = kind_of(call) == Kind::sum_square;
  SumLoops loops = sum_loops(reduce_space(call), block, in[0].region, sums.region);
  loops.squares = squares;
  const auto count = static_cast<std::size_t>(volume(sums.region));
  if (sums_are_of_floats(call.in[0].type, squares)) {
    sums.of_floats.resize(count);
    add_to(loops, in[0], sums.of_floats);
  } else {
    sums.of_doubles.resize(count);
    add_to(loops, in[0], sums.of_doubles);
  }
}

double finish(const OpCall& call, double sum) { return sum * call.attrs.number("scale"); }

// One run of `run` elements per result: 7 + 10 + outputs (12 + run / e); a run may be cut among
// workers, whose parts are then joined (two-stage on the tile; the joining cost is estimated).
Cycles continuous(const TileCosts& costs, std::int64_t outputs, std::int64_t run, DType type) {
  constexpr std::int64_t kSetup = 17, kPerOutput = 12, kJoin = 30;
  const std::int64_t whole = kSetup + ceil_div(outputs, costs.workers) * (kPerOutput + ceil_div(run, lanes(type)));
  const std::int64_t pieces = std::max<std::int64_t>(costs.workers / outputs, 1);
  const std::int64_t cut = kSetup + kJoin + kPerOutput + ceil_div(ceil_div(run, pieces), lanes(type));
  return costs.launch + Cycles(costs.workers * (pieces > 1 ? std::min(whole, cut) : whole));
}

// Column sums: 16 + ceil(outputs / e) (3 + post + strides (3 + partials - 1)), post 3 to 12. Again the
// partials may be cut among workers.
Cycles strided(const TileCosts& costs, std::int64_t outputs, std::int64_t partials, DType type) {
  constexpr std::int64_t kSetup = 16, kPerVector = 15, kJoin = 30;
  const std::int64_t vectors = ceil_div(outputs, lanes(type));
  const std::int64_t whole = kSetup + ceil_div(vectors, costs.workers) * (kPerVector + partials);
  const std::int64_t pieces = std::max<std::int64_t>(costs.workers / vectors, 1);
  const std::int64_t cut = kSetup + kJoin + kPerVector + ceil_div(partials, pieces);
  return costs.launch + Cycles(costs.workers * (pieces > 1 ? std::min(whole, cut) : whole));
}

Cycles reduce_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const std::vector<bool> reduced = reduced_dimensions(call);
  std::int64_t outputs = 1, partials = 1;
  for (std::size_t d = 0; d < reduced.size(); ++d) (reduced[d] ? partials : outputs) *= extents[d];
  outputs = std::max<std::int64_t>(outputs, 1);
  const bool inner = reduced.empty() || reduced.back();
  return inner ? continuous(costs, outputs, partials, call.in[0].type)
               : strided(costs, outputs, partials, call.in[0].type);
}

// The gradient of the result with the reduced dimensions back, as extents of 1.
TensorId with_kept_dimensions(const Chain& c, const std::vector<std::int64_t>& axes, bool keep, TensorId t) {
  if (keep) return t;
  const std::size_t rank = c.b.info(c.in[0]).shape.size();
  const Shape result = c.b.info(c.y).shape;
  Shape shape = c.b.info(t).shape;
  shape.insert(shape.begin(), result.size() - shape.size(), 1);
  std::vector<bool> reduced(rank);
  for (std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  Shape kept;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) kept.push_back(reduced[d] ? 1 : shape[next++]);
  return c.b.reshape(t, kept);
}

std::vector<TensorId> reduce_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  if (!b.wants(c.in[0])) return {TensorId{}};
  const std::string kind = c.op.attrs.text("kind");
  const std::vector<std::int64_t> axes = c.op.attrs.integers("axes");
  const bool keep = c.op.attrs.integer("keep") != 0;
  const double scale = c.op.attrs.number("scale");
  const DType type = b.info(c.in[0]).type;
  const TensorId dy = with_kept_dimensions(c, axes, keep, c.dy);
  if (kind == "sum") return {b.scale(dy, scale)};
  if (kind == "sum_square") return {times(b, b.scale(dy, 2 * scale), c.in[0], c.in[0])};
  const TensorId y = with_kept_dimensions(c, axes, keep, c.y);
  if (kind == "prod") return {times(b, b.binary("mul", dy, y), b.unary("reciprocal", c.in[0]), c.in[0])};
  if (scale != 1) throw Error("", "no gradient of a scaled " + kind);
  // All elements equal to the extremum share the gradient.
  const TensorId hit = b.cast(b.binary("equal", c.in[0], y), type);
  const TensorId count = b.reduce("sum", hit, axes, true);
  return {times(b, b.binary("div", b.cast(dy, type), count), hit, c.in[0])};
}

Statistic statistic(const Attributes& attrs) { return {attrs.integer("mean") != 0, attrs.integer("across")}; }

OpDef make_reduce() {
  OpDef def;
  def.name = "reduce";
  def.attrs = {
      {"kind", std::string("sum")}, {"axes", std::vector<std::int64_t>{}}, {"keep", std::int64_t{0}}, {"scale", 1.0},
      {"mean", std::int64_t{0}},    {"across", std::int64_t{0}},           {"type", std::string()}};
  def.infer = infer_reduce;
  def.space = reduce_space;
  def.kernel = reduce_kernel;
  def.summation = Summation::exact;
  def.add_terms = add_terms;
  def.finish = finish;
  def.statistic = statistic;
  def.cycles = reduce_cycles;
  def.gradient = reduce_gradient;
  def.broadcast_gradient = true;
  return def;
}

}  // namespace

std::vector<const OpDef*> reduce_ops() {
  static const OpDef reduce = make_reduce();
  return {&reduce};
}

}  // namespace superstep::ops
