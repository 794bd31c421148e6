// SPDX-License-Identifier: Apache-2.0
#include "model/ops/elementwise.h"

#include "model/error.h"

namespace superstep::ops {

Space elementwise_space(const OpCall& call, std::uint32_t linear) {
  Space space;
  const Shape& shape = call.out[0].shape;
  space.axes = axes_of(shape);
  for (const TensorInfo& operand : call.in) space.in.push_back(aligned(operand.shape, shape));
  space.out.push_back(identity(shape.size()));
  space.linear = linear;
  return space;
}

void run_rows(const OpCall& call, const Block& block, std::span<const ConstView> in, const View& out, RowFunction row) {
  const Space space = elementwise_space(call, 0);
  std::vector<Strided> operands;
  for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(follow(space.in[i], in[i].region, block));
  operands.push_back(follow(space.out[0], out.region, block));

  const std::size_t columns = block.empty() ? 1 : static_cast<std::size_t>(block.back().extent());
  const auto step = [&](std::size_t i) { return block.empty() ? 0 : operands[i].step.back(); };
  std::vector<double> buffer((in.size() + 1) * columns);
  std::vector<const double*> rows(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) rows[i] = buffer.data() + i * columns;
  double* result = buffer.data() + in.size() * columns;
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      load_row(in[i].data, in[i].type, first[i], step(i), n, buffer.data() + i * columns);
    }
    row(call, rows, result, n);
    store_row(out.data, out.type, first[in.size()], step(in.size()), n, result);
  });
}

Cycles binary_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents,
                     const LoopCost& cost) {
  const DType type = call.in[0].type;
  const Shape& shape = call.out[0].shape;
  const auto [rows, columns] = rows_of(extents);
  bool full = true, by_scalar = true;
  for (const TensorInfo& operand : call.in) {
    full = full && operand.shape == shape;
    by_scalar = by_scalar && (operand.shape == shape || operand.elements() == 1);
  }
  if (full) {
    const std::int64_t setup = cost.setup + (lanes(type) < 4 ? 3 : 0);  // 26 half, 29 float
    return flat_loop(costs, rows * columns, type, {setup, cost.half, cost.single});
  }
  if (by_scalar) return flat_loop(costs, rows * columns, type, {20, cost.half - 1, cost.single - 1});
  // The layout of the whole rows decides whether they start on 64 bits.
  const bool aligned = shape.back() * size_of(type) % 8 == 0;
  return row_loop(costs, rows, columns, aligned ? 7 : 25, type, {15, cost.half - 1, cost.single - 1});
}

TensorId to_operand(GraphBuilder& b, TensorId gradient, TensorId operand, const Shape& result) {
  const Shape target = b.info(operand).shape;
  if (target == result) return gradient;
  // What the gradient has of the result's dimensions, and what is left of them once summed.
  Shape from = b.info(gradient).shape;
  from.insert(from.begin(), result.size() - from.size(), 1);
  const std::size_t lead = result.size() - target.size();
  Shape summed = from;
  double repeats = 1;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (!(d < lead || target[d - lead] == 1) || result[d] == 1) continue;
    if (from[d] == 1) repeats *= static_cast<double>(result[d]);
    summed[d] = 1;
  }
  const Shape wanted(summed.begin() + static_cast<std::ptrdiff_t>(lead), summed.end());
  const std::size_t rank = b.info(gradient).shape.size();
  if (rank < wanted.size())
    gradient = b.reshape(gradient, Shape(from.end() - static_cast<std::ptrdiff_t>(wanted.size()), from.end()));
  return b.scale(b.sum_to(gradient, wanted), repeats);
}

TensorId times(GraphBuilder& b, TensorId gradient, TensorId factor, TensorId like) {
  const DType type = b.info(like).type;
  if (b.info(gradient).type == type) return b.binary("mul", gradient, factor);
  if (b.info(factor).type == type) return b.binary("mul", factor, gradient);
  return b.cast(b.binary("mul", gradient, factor), type);
}

std::vector<TensorId> no_gradient(GraphBuilder& b, OpId op, std::span<const TensorId>) {
  return std::vector<TensorId>(b.graph().ops[op].inputs.size());
}

}  // namespace superstep::ops
