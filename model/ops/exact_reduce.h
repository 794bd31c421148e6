// SPDX-License-Identifier: Apache-2.0
// Exact sums of the terms of a block, for Summation::exact: of floats (and halves) or, where terms are squares, doubles
// or integers, of doubles.
#pragma once

#include <vector>

#include "model/ops/kernel.h"

namespace superstep::ops {

// One axis of a block, and what a step moves in the operand and in the sums.
struct SumLoop {
  std::int64_t extent = 1;
  std::int64_t in = 0, out = 0;
};

// Which elements of an operand are the terms of which sums: the loops over kept axes and over summed ones, outermost
// first; extents of 1 are left out and neighbours that continue each other are one.
struct SumLoops {
  std::vector<SumLoop> kept, summed;
  std::int64_t in = 0, out = 0;  // where the first ones are
  bool squares = false;
};
// `out`: the region the sums lie in. Along axes of kind reduce terms are summed.
SumLoops sum_loops(const Space& space, const Block& block, const Block& in, const Block& out);

bool sums_are_of_floats(DType operand, bool squares);

// Adds all terms to sums that are of the given type.
void add_to(const SumLoops& loops, const ConstView& in, std::vector<numerics::ExactSum<float>>& sums);
void add_to(const SumLoops& loops, const ConstView& in, std::vector<numerics::ExactSum<double>>& sums);

// Stores finish(sum) for every sum, without keeping the sums.
void sum_into(const SumLoops& loops, const ConstView& in, const OpCall& call, const View& out, numerics::Team& team);

// What a sum becomes: OpDef::finish of it, if there is one.
double finished(const OpCall& call, double sum);

}  // namespace superstep::ops
