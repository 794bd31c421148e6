// SPDX-License-Identifier: Apache-2.0
// How one op may be split over the mesh, and what each way needs and leaves. For shard() alone.
#pragma once

#include <array>
#include <vector>

#include "model/lower/shard_problem.h"
#include "model/ops/op.h"

namespace superstep {

// One way to run an op.
struct OpSplit {
  std::array<int, 2> axis;                     // per mesh dimension; -1: all IPUs do the same, or pass on partial sums
  std::vector<Sharding> need, raw;             // of inputs as read, of outputs as made
  std::array<bool, 2> creates = {true, true};  // per mesh dimension: no split, or of an axis no operand has
  double work = 0;                             // seconds
};
struct OpSplits {
  std::vector<OpSplit> splits;
  Reduction reduction = Reduction::none;  // of the op
};
OpSplits splits_of(const ShardProblem& p, OpId id);

}  // namespace superstep
