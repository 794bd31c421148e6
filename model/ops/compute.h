// SPDX-License-Identifier: Apache-2.0
// One block of an op on values: whole, rounded to the types of its results; or as sums that are joined with those of
// other blocks before they are rounded.
#pragma once

#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

// A view of a whole array, or of one that holds a region.
ConstView view_of(const Array& array);
ConstView view_of(const Array& array, const Block& region);
Block whole_block(const Shape& shape);
Block whole_block(const Space& space);
Shape shape_of(const Block& region);

// What results start from before blocks are combined into them: 0, -inf or +inf.
double identity_of(Reduction reduction);

// The values of the regions that `block` writes, by result: computed wide and rounded once, at the places of
// context.results. Of a block that has only a part of the reduce axes, what the part gives.
std::vector<Array> compute_block(const OpCall& call, const Space& space, const Block& block,
                                 std::span<const ConstView> in, const KernelContext& context);

// Summation::contraction: the unrounded sums of a block whose steps are context.contraction's node; in fp64 for fp64
// operands, in fp32 for others.
Array compute_node(const OpCall& call, const Space& space, const Block& block, std::span<const ConstView> in,
                   const KernelContext& context);

// Summation::exact: the sums of a block.
ExactSums compute_sums(const OpCall& call, const Space& space, const Block& block, std::span<const ConstView> in);
// And what they become, in the result's type, fp16 being rounded at the place of result 0.
Array finish_sums(const OpCall& call, const ExactSums& sums, const KernelContext& context);

// Rounds the values of a region of result `number` to a narrower type.
Array rounded(const Array& wide, DType type, const Block& region, std::size_t number, const KernelContext& context);

}  // namespace superstep
