// SPDX-License-Identifier: Apache-2.0
// dropout(x): keeps an element with probability 1 - ratio and scales it by 1 / (1 - ratio). Random
// bits come from a counter, not from a state (numerics::RandomBits): they depend on the seed, the op's key (a hash of
// its name), the step, and the element's place in the tensor of the whole global batch, so every plan sees the same
// mask, and the gradient applies it again instead of keeping it. (Real IPUs seed per tile and worker.)
#include "model/numerics/random_bits.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

constexpr std::uint32_t kDropoutSite = 1;

// Where the elements of a block of the result lie in the tensor of the whole global batch.
Strided places_of(const OpCall& call, const Block& block, const KernelContext& context) {
  const Shape& shape = call.out[0].shape;
  Block whole;
  for (std::int64_t extent : shape) whole.push_back({0, extent});
  Strided places = follow(identity(block.size()), whole, block);
  if (context.results.empty()) {
    const std::int64_t samples = call.attrs.integer("samples");
    if (samples > 0) places.base += context.first_sample * (volume(shape) / samples);
    return places;
  }
  const ResultPlace& place = context.results[0];
  if (!place.step.empty()) {
    places.base = 0;
    places.step = place.step;
    for (std::size_t d = 0; d < block.size(); ++d) places.base += block[d].begin * place.step[d];
  }
  places.base += place.offset;
  return places;
}

void dropout_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext& context) {
  const Projection projection = identity(block.size());
  const Strided operands[] = {follow(projection, in[0].region, block), follow(projection, out[0].region, block),
                              places_of(call, block, context)};
  const numerics::RandomBits bits({context.seed, static_cast<std::uint64_t>(call.attrs.integer("key")), kDropoutSite,
                                   static_cast<std::uint64_t>(context.step)});
  const double ratio = call.attrs.number("ratio");
  const double keep = ratio < 1 ? 1 / (1 - ratio) : 0;
  const double dropped_below = ratio * 0x1p32;

  const std::size_t rank = block.size();
  std::vector<double> row(rank ? static_cast<std::size_t>(block.back().extent()) : 1);
  std::vector<std::uint32_t> words(row.size());
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return rank ? operands[i].step[rank - 1] : 0; };
    load_row(in[0].data, in[0].type, first[0], step(0), n, row.data());
    if (step(2) == 1) bits.fill(static_cast<std::uint64_t>(first[2]), words);
    for (std::int64_t i = 0; step(2) != 1 && i < n; ++i)
      words[static_cast<std::size_t>(i)] = bits.at(static_cast<std::uint64_t>(first[2] + i * step(2)));
    for (std::size_t i = 0; i < words.size(); ++i) row[i] = words[i] < dropped_below ? 0 : row[i] * keep;
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
  def.attrs = {{"ratio", 0.1, false}, {"samples", std::int64_t{0}}, {"key", std::int64_t{0}, false}};
  def.infer = same_as_first;
  def.space = elementwise_space<1>;
  def.kernel = dropout_kernel;
  def.cycles = flat_cycles<LoopCost{27, 2, 2}>;  // 6 * 24 + 2 ceil(N / v), a vector costing all workers' slots
  def.gradient = unary_gradient<dropout_dx>;
  def.random = true;
  return def;
}

}  // namespace

std::vector<const OpDef*> random_ops() {
  static const OpDef dropout = make_dropout();
  return {&dropout};
}

}  // namespace superstep::ops
