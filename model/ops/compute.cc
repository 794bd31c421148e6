// SPDX-License-Identifier: Apache-2.0
#include "model/ops/compute.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/error.h"
#include "model/numerics/random_bits.h"
#include "model/ops/kernel.h"

namespace superstep {

namespace {

using numerics::Half;

constexpr std::uint32_t kRoundingSite = 0;

void fill(Array& array, double value) {
  for (std::int64_t i = 0; i < array.info.elements(); ++i) array.set(i, value);
}

// Types whose values are computed wider than they are kept.
DType wide_type(const OpDef& def, DType type) {
  return type == DType::fp16 && !def.moves && !def.view ? DType::fp32 : type;
}
DType sum_type(DType type) { return type == DType::fp64 ? DType::fp64 : DType::fp32; }

// A contraction stores its sums, which then need no start; nor do results that are not reduced.
Array start_of(DType type, const Block& region, const OpDef& def, Reduction reduction) {
  TensorInfo info{type, shape_of(region)};
  if (reduction == Reduction::none || def.summation == Summation::contraction) return Array::unfilled(std::move(info));
  Array array(std::move(info));
  if (const double start = identity_of(reduction); start != 0) fill(array, start);
  return array;
}

std::span<const float> floats(const Array& array) {
  return {reinterpret_cast<const float*>(array.data.data()), static_cast<std::size_t>(array.info.elements())};
}
Half* halves(Array& array) { return reinterpret_cast<Half*>(array.data.data()); }

// Random words of a part of a region, to their places in the row-major order of the region.
void fill_words(const numerics::RandomBits& bits, const Block& region, const Block& part, const ResultPlace& place,
                std::int64_t offset, std::vector<std::uint32_t>& words) {
  std::array<ops::Strided, 2> at;
  at[0] = {.base = offset, .step = place.step};
  at[1].step = ops::row_major(region);
  for (std::size_t d = 0; d < region.size(); ++d) {
    at[0].base += part[d].begin * at[0].step[d];
    at[1].base += (part[d].begin - region[d].begin) * at[1].step[d];
  }
  const std::int64_t step = region.empty() ? 1 : place.step.back();
  ops::for_each_row(part, at, [&](std::span<const std::int64_t> first, std::int64_t n) {
    const std::span<std::uint32_t> row(words.data() + first[1], static_cast<std::size_t>(n));
    if (step == 1)
      bits.fill(static_cast<std::uint64_t>(first[0]), row);
    else
      for (std::int64_t i = 0; i < n; ++i)
        row[static_cast<std::size_t>(i)] = bits.at(static_cast<std::uint64_t>(first[0] + i * step));
  });
}

// Random words of the elements of a region, row-major.
std::vector<std::uint32_t> random_words(const Block& region, const ResultPlace& place, const KernelContext& context) {
  const numerics::RandomBits bits(
      {context.seed, place.tensor, kRoundingSite, static_cast<std::uint64_t>(context.step)});
  std::vector<std::uint32_t> words(static_cast<std::size_t>(volume(region)));
  if (place.dimension < 0 || words.empty()) {
    fill_words(bits, region, region, place, place.offset, words);
    return words;
  }
  const auto d = static_cast<std::size_t>(place.dimension);
  for (std::int64_t run = region[d].begin / place.run; run * place.run < region[d].end; ++run) {
    Block part = region;
    part[d] = {std::max(region[d].begin, run * place.run), std::min(region[d].end, (run + 1) * place.run)};
    fill_words(bits, region, part, place, place.offset + run * place.apart * place.step[d], words);
  }
  return words;
}

}  // namespace

ConstView view_of(const Array& array, const Block& region) { return {array.info.type, region, array.data.data()}; }
ConstView view_of(const Array& array) { return view_of(array, whole_block(array.info.shape)); }

Block whole_block(const Shape& shape) {
  Block block;
  block.reserve(shape.size());
  for (std::int64_t extent : shape) block.push_back({0, extent});
  return block;
}

Block whole_block(const Space& space) {
  Block block;
  for (const Axis& axis : space.axes) block.push_back({0, axis.extent});
  return block;
}

Shape shape_of(const Block& region) {
  Shape shape;
  shape.reserve(region.size());
  for (const Range& range : region) shape.push_back(range.extent());
  return shape;
}

double identity_of(Reduction reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return reduction == Reduction::max ? -kInfinity : reduction == Reduction::min ? kInfinity : 0;
}

Array rounded(const Array& wide, DType type, const Block& region, std::size_t number, const KernelContext& context) {
  SUPERSTEP_CHECK(wide.info.type == DType::fp32 && type == DType::fp16, "a rounding from fp32 to fp16");
  Array narrow = Array::unfilled({type, wide.info.shape});
  if (context.rounding == Rounding::nearest) {
    numerics::round_to_nearest(floats(wide), halves(narrow), context.overflow);
    return narrow;
  }
  SUPERSTEP_CHECK(number < context.results.size(), "a place for the random bits of a result");
  const std::vector<std::uint32_t> random = random_words(region, context.results[number], context);
  numerics::round_stochastic(floats(wide), random.data(), halves(narrow), context.overflow);
  return narrow;
}

std::vector<Array> compute_block(const OpCall& call, const Space& space, const Block& block,
                                 std::span<const ConstView> in, const KernelContext& context) {
  std::vector<Array> results;
  std::vector<Block> regions;
  std::vector<View> out;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    regions.push_back(project(space.out[k], call.out[k].shape, block));
    results.push_back(start_of(wide_type(call.def, call.out[k].type), regions[k], call.def, space.reduction));
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    out.push_back({results[k].info.type, regions[k], results[k].data.data()});
  call.def.kernel(call, block, in, out, context);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].info.type != call.out[k].type)
      results[k] = rounded(results[k], call.out[k].type, regions[k], k, context);
  }
  return results;
}

Array compute_node(const OpCall& call, const Space& space, const Block& block, std::span<const ConstView> in,
                   const KernelContext& context) {
  const Block region = project(space.out[0], call.out[0].shape, block);
  Array sums = start_of(sum_type(call.out[0].type), region, call.def, space.reduction);
  const View out{sums.info.type, region, sums.data.data()};
  call.def.kernel(call, block, in, std::span(&out, 1), context);
  return sums;
}

ExactSums compute_sums(const OpCall& call, const Space& space, const Block& block, std::span<const ConstView> in) {
  ExactSums sums{project(space.out[0], call.out[0].shape, block), {}, {}};
  call.def.add_terms(call, block, in, sums);
  return sums;
}

Array finish_sums(const OpCall& call, const ExactSums& sums, const KernelContext& context) {
  const DType type = call.out[0].type;
  Array wide(TensorInfo{type == DType::fp16 ? DType::fp32 : type, shape_of(sums.region)});
  for (std::int64_t i = 0; i < wide.info.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double sum =
        sums.of_floats.empty() ? sums.of_doubles[at].to_double_sum() : sums.of_floats[at].to_double_sum();
    wide.set(i, call.def.finish ? call.def.finish(call, sum) : sum);
  }
  return wide.info.type == type ? wide : rounded(wide, type, sums.region, 0, context);
}

std::vector<Array> evaluate_op(const OpCall& call, std::span<const Array* const> inputs, const KernelContext& context) {
  const Space space = call.def.space(call);
  std::vector<ConstView> in;
  for (const Array* value : inputs) in.push_back(value ? view_of(*value) : ConstView{});
  return compute_block(call, space, whole_block(space), in, context);
}

}  // namespace superstep
