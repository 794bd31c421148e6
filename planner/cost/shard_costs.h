// SPDX-License-Identifier: Apache-2.0
// Cycles of collectives over replicas as functions of their bytes, for all degrees of sharding. All settings of a cell
// share these functions.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/placement.h"

namespace superstep {

// Cycles as a function of bytes: fixed + per_byte x bytes, rounded down; 0 for no bytes.
struct LinearCycles {
  double fixed = 0, per_byte = 0;
  std::int64_t of(std::int64_t bytes) const {
    return bytes == 0 ? 0 : static_cast<std::int64_t>(fixed + per_byte * static_cast<double>(bytes));
  }
  friend bool operator==(const LinearCycles&, const LinearCycles&) = default;
};
// Returns the cycles of a collective by bytes of the tensor at its larger end; 0 for a group of one.
LinearCycles linear_collective(const CostModel& model, CollectiveKind kind, GroupShape group);

// The collectives of one set of replicas. Degrees are given by their index: see of().
class ShardCosts {
 public:
  // `degrees`: divisors of the number of replicas, ascending from 1.
  ShardCosts(const CostModel& model, const Replicas& replicas, std::vector<std::int64_t> degrees);

  // Returns the index of a degree, for the functions below. Throws InternalError for a degree that was not given.
  std::size_t of(std::int64_t degree) const;

  // Cycles to join the shards of a tensor, and to sum a tensor and scatter the sums: by bytes of the whole tensor.
  const LinearCycles& gather(std::size_t degree) const { return gather_[degree]; }
  const LinearCycles& scatter(std::size_t degree) const { return scatter_[degree]; }
  // Cycles to bring gradients to the shards of an update, by bytes of all gradients. `state`: degree of the update.
  // `reduced`: degree over which gradients are scattered already; index 0: they are not. Collectives of an update are
  // merged into one per IPU, so that `fixed` counts once and `per_byte` counts for each unit.
  const LinearCycles& reduce(std::size_t state, std::size_t reduced) const {
    return reduce_[state * degrees_.size() + reduced];
  }
  // Cycles to bring new weights from the shards of an update to the shards of the weights, by bytes of all weights.
  const LinearCycles& join(std::size_t state, std::size_t weight) const {
    return join_[state * degrees_.size() + weight];
  }

 private:
  std::vector<std::int64_t> degrees_;
  std::vector<LinearCycles> gather_, scatter_, reduce_, join_;
};

}  // namespace superstep
