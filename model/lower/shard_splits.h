// SPDX-License-Identifier: Apache-2.0
// The splits of an op over the mesh, with the shardings that each needs and makes. For shard() alone.
#pragma once

#include <array>
#include <vector>

#include "model/graph/op_def.h"
#include "model/lower/shard_problem.h"

namespace superstep {

// A split of an op.
struct OpSplit {
  std::array<int, 2> axis;          // by mesh dimension; -1: all IPUs do the same work, or pass on partial sums
  std::vector<Sharding> need, raw;  // shardings of inputs as read, and of outputs as made
  std::array<bool, 2> creates = {true, true};  // by mesh dimension: true if no axis is split, or an axis of no operand
  double work = 0;                             // seconds of the op's own work on one IPU
};
struct OpSplits {
  std::vector<OpSplit> splits;
  Reduction reduction = Reduction::none;  // over the op's reduce axes
};
OpSplits splits_of(const ShardProblem& p, OpId id);

}  // namespace superstep
