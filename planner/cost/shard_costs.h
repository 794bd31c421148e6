// SPDX-License-Identifier: Apache-2.0
// Cycles of collectives over replicas as functions of their bytes, for all degrees of sharding: all settings of a cell
// share them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/placement.h"

namespace superstep {

// fixed + per_byte x bytes; nothing where nothing moves.
struct LinearCycles {
  double fixed = 0, per_byte = 0;
  std::int64_t of(std::int64_t bytes) const {
    return bytes == 0 ? 0 : static_cast<std::int64_t>(fixed + per_byte * static_cast<double>(bytes));
  }
  friend bool operator==(const LinearCycles&, const LinearCycles&) = default;
};
LinearCycles linear_collective(const CostModel& model, CollectiveKind kind, GroupShape group);

class ShardCosts {
 public:
  // For these degrees: ascending divisors of the replicas, from 1.
  ShardCosts(const CostModel& model, const Replicas& replicas, std::vector<std::int64_t> degrees);

  // Where a degree stands among them: what the others ask for.
  std::size_t of(std::int64_t degree) const;

  // Shards of one tensor joined, and a tensor's sums scattered: by its bytes.
  const LinearCycles& gather(std::size_t degree) const { return gather_[degree]; }
  const LinearCycles& scatter(std::size_t degree) const { return scatter_[degree]; }
  // Of an update whose state is sharded so, by bytes of all gradients, which may lie `reduced` among so many already.
  // Collectives of an update are merged into one per IPU: their latency counts once, their bytes per unit.
  const LinearCycles& reduce(std::size_t state, std::size_t reduced) const {
    return reduce_[state * degrees_.size() + reduced];
  }
  // New weights on their way to where weights are sharded so, by bytes of all of them.
  const LinearCycles& join(std::size_t state, std::size_t weight) const {
    return join_[state * degrees_.size() + weight];
  }

 private:
  std::vector<std::int64_t> degrees_;
  std::vector<LinearCycles> gather_, scatter_, reduce_, join_;
};

}  // namespace superstep
