// SPDX-License-Identifier: Apache-2.0
// dropout(x) keeps an element with probability 1 - ratio and scales it by 1 / (1 - ratio). random_uniform(x) and
// random_normal(x) have the shape and type of x, whose values do not count: between 0 and 1, or of mean 0 and variance
// 1. Random bits come from a counter, not from a state (numerics::RandomBits): they depend on the seed, the op's key (a
// hash of its name), the step, and the element's place in the tensor of the whole global batch, so every plan sees the
// same mask, and the gradient applies it again instead of keeping it. (Real IPUs seed per tile and worker.)
#include <cmath>
#include <numbers>

#include "model/numerics/random_bits.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

constexpr std::uint32_t kDropoutSite = 1, kUniformSite = 2, kNormalSite = 3, kAngleSite = 4;

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

numerics::RandomBits bits_of(const OpCall& call, const KernelContext& context, std::uint32_t site) {
  return numerics::RandomBits({context.seed, static_cast<std::uint64_t>(call.attrs.integer("key")), site,
                               static_cast<std::uint64_t>(context.step)});
}

// Calls f(row, words) for each row of the block, with the operand's values, which become the result's, and 32 random
// bits for each from each of the sites.
template <class F>
void for_each_random_row(const OpCall& call, const Block& block, std::span<const ConstView> in,
                         std::span<const View> out, const KernelContext& context,
                         std::initializer_list<std::uint32_t> sites, F&& f) {
  const Projection projection = identity(block.size());
  const Strided operands[] = {follow(projection, in[0].region, block), follow(projection, out[0].region, block),
                              places_of(call, block, context)};
  std::vector<numerics::RandomBits> bits;
  for (const std::uint32_t site : sites) bits.push_back(bits_of(call, context, site));
  const std::size_t rank = block.size();
  std::vector<double> row(rank ? static_cast<std::size_t>(block.back().extent()) : 1);
  std::vector<std::vector<std::uint32_t>> words(bits.size(), std::vector<std::uint32_t>(row.size()));
  for_each_row(block, operands, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const auto step = [&](std::size_t i) { return rank ? operands[i].step[rank - 1] : 0; };
    load_row(in[0].data, in[0].type, first[0], step(0), n, row.data());
    for (std::size_t s = 0; s < bits.size(); ++s) {
      if (step(2) == 1) bits[s].fill(static_cast<std::uint64_t>(first[2]), words[s]);
      for (std::int64_t i = 0; step(2) != 1 && i < n; ++i)
        words[s][static_cast<std::size_t>(i)] = bits[s].at(static_cast<std::uint64_t>(first[2] + i * step(2)));
    }
    f(row, words);
    store_row(out[0].data, out[0].type, first[1], step(1), n, row.data());
  });
}

using Words = std::vector<std::vector<std::uint32_t>>;

void dropout_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext& context) {
  const double ratio = call.attrs.number("ratio");
  const double keep = ratio < 1 ? 1 / (1 - ratio) : 0;
  const double dropped_below = ratio * 0x1p32;
  for_each_random_row(call, block, in, out, context, {kDropoutSite}, [&](std::vector<double>& row, const Words& words) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = words[0][i] < dropped_below ? 0 : row[i] * keep;
  });
}

// The middle of one of 2^32 equal parts of the range from 0 to 1.
double uniform(std::uint32_t word) { return (word + 0.5) * 0x1p-32; }

void uniform_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                    const KernelContext& context) {
  for_each_random_row(call, block, in, out, context, {kUniformSite}, [&](std::vector<double>& row, const Words& words) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = uniform(words[0][i]);
  });
}

// Box and Muller's form.
void normal_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext& context) {
  for_each_random_row(
      call, block, in, out, context, {kNormalSite, kAngleSite}, [&](std::vector<double>& row, const Words& words) {
        for (std::size_t i = 0; i < row.size(); ++i)
          row[i] =
              std::sqrt(-2 * std::log(uniform(words[0][i]))) * std::cos(2 * std::numbers::pi * uniform(words[1][i]));
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

// The device makes 64 bits of uniform or normal numbers in one instruction (f16v4gauss and the like).
OpDef make_random(std::string_view name, decltype(OpDef::kernel) kernel) {
  OpDef def;
  def.name = name;
  def.attrs = {{"samples", std::int64_t{0}}, {"key", std::int64_t{0}, false}};
  def.infer = same_as_first;
  def.space = elementwise_space<0>;
  def.kernel = kernel;
  def.cycles = flat_cycles<LoopCost{27, 2, 2}>;  // as dropout
  def.gradient = no_gradient;
  def.random = true;
  return def;
}

}  // namespace

std::vector<const OpDef*> random_ops() {
  static const OpDef defs[] = {make_dropout(), make_random("random_uniform", uniform_kernel),
                               make_random("random_normal", normal_kernel)};
  return {&defs[0], &defs[1], &defs[2]};
}

}  // namespace superstep::ops
