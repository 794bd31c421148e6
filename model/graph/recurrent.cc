// SPDX-License-Identifier: Apache-2.0
#include "model/graph/recurrent.h"

namespace superstep {

namespace {

// Equal parts along an axis, by one op, whose gradient is one concatenation.
std::vector<TensorId> parts(GraphBuilder& b, TensorId x, std::int64_t axis, std::int64_t count) {
  const std::int64_t each = b.info(x).shape[static_cast<std::size_t>(axis)] / count;
  return b.split(x, axis, std::vector<std::int64_t>(static_cast<std::size_t>(count), each));
}

struct LstmState {
  TensorId hidden, cell;
};

// gates: the inputs' part of the sums, [batch, 4 h].
LstmState step(GraphBuilder& b, TensorId gates, TensorId recurrent, LstmState state) {
  if (state.hidden.valid()) gates = b.binary("add", gates, b.matmul(state.hidden, recurrent, false, true));
  const std::vector<TensorId> gate = parts(b, gates, 1, 4);
  TensorId cell = b.binary("mul", b.unary("sigmoid", gate[0]), b.unary("tanh", gate[3]));
  if (state.cell.valid()) cell = b.binary("add", cell, b.binary("mul", b.unary("sigmoid", gate[2]), state.cell));
  return {b.binary("mul", b.unary("sigmoid", gate[1]), b.unary("tanh", cell)), cell};
}

}  // namespace

LstmResult lstm(GraphBuilder& b, TensorId x, const LstmWeights& weights, TensorId hidden, TensorId cell, bool reverse) {
  const std::int64_t steps = b.info(x).shape[0], batch = b.info(x).shape[1];
  const std::int64_t h = b.info(weights.recurrent).shape[1];
  TensorId sums = b.matmul(x, weights.input, false, true);  // of all steps at once
  if (weights.bias.valid()) sums = b.binary("add", sums, weights.bias);
  const std::vector<TensorId> by_step = parts(b, sums, 0, steps);

  LstmState state{hidden, cell};
  std::vector<TensorId> all(static_cast<std::size_t>(steps));
  {
    GraphBuilder::Loop loop(b);
    for (std::int64_t i = 0; i < steps; ++i) {
      loop.next();
      const auto t = static_cast<std::size_t>(reverse ? steps - 1 - i : i);
      state = step(b, b.reshape(by_step[t], {batch, 4 * h}), weights.recurrent, state);
      all[t] = b.reshape(state.hidden, {1, batch, h});
    }
  }
  return {b.concat(std::move(all), 0), state.hidden, state.cell};
}

}  // namespace superstep
