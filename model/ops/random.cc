// SPDX-License-Identifier: Apache-2.0
// dropout(x): keeps an element with probability 1 - ratio and scales it by 1 / (1 - ratio). Random
// bits come from a counter, not from a state: they depend on the seed, the op's key (a hash of its
// name), the step, and the element's place in the tensor of the whole global batch, so every plan
// sees the same mask, and the gradient applies it again instead of keeping it. (Real IPUs seed per
// tile and worker.)
#include <algorithm>
#include <cmath>

#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

// SplitMix64 finaliser (Steele, Lea, Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

double uniform(std::uint64_t stream, std::uint64_t element) {
  return static_cast<double>(scramble(stream + scramble(element * kGolden)) >> 11) * 0x1p-53;
}

void dropout_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext& context) {
  const Projection projection = identity(block.size());
  const std::int64_t samples = call.attrs.integer("samples");
  const Shape& shape = call.out[0].shape;
  // Element numbers within the whole tensor, from the sample the micro-batch starts with.
  Block whole;
  for (std::int64_t extent : shape) whole.push_back({0, extent});
  const Strided operands[] = {follow(projection, in[0].region, block), follow(projection, out[0].region, block),
                              follow(projection, whole, block)};
  const std::int64_t start = samples > 0 ? context.first_sample * (volume(shape) / samples) : 0;
  const std::uint64_t stream =
      scramble(scramble(context.seed + kGolden) ^ scramble(static_cast<std::uint64_t>(call.attrs.integer("key"))) ^
               (static_cast<std::uint64_t>(context.step) * kGolden));
  const double ratio = call.attrs.number("ratio");
  const double keep = ratio < 1 ? 1 / (1 - ratio) : 0;

  const std::size_t rank = block.size();
  std::vector<double> row(rank ? static_cast<std::size_t>(block.back().extent()) : 1);
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return rank ? operands[i].step[rank - 1] : 0; };
    load_row(in[0].data, in[0].type, first[0], step(0), n, row.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto element = static_cast<std::uint64_t>(start + first[2] + i * step(2));
      auto& value = row[static_cast<std::size_t>(i)];
      value = uniform(stream, element) < ratio ? 0 : value * keep;
    }
    store_row(out[0].data, out[0].type, first[1], step(1), n, row.data());
  });
}

TensorId dropout_dx(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const Op& op = b.graph().ops[b.graph().tensors[y].producer];
  const Attributes attrs = op.attrs;
  return b.one("dropout", {dy}, attrs);
}

OpDef make_dropout() {
  OpDef def;
  def.name = "dropout";
  def.attrs = {{"ratio", 0.1}, {"samples", std::int64_t{0}}, {"key", std::int64_t{0}}};
  def.infer = same_as_first;
  def.space = elementwise_space<1>;
  def.kernel = dropout_kernel;
  def.cycles = flat_cycles<LoopCost{27, 2, 2}>;  // 6 * 24 + 2 ceil(N / v), a vector costing all workers' slots
  def.gradient = unary_gradient<dropout_dx>;
  return def;
}

}  // namespace

std::vector<const OpDef*> random_ops() {
  static const OpDef dropout = make_dropout();
  return {&dropout};
}

}  // namespace superstep::ops
