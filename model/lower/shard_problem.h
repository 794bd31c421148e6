// SPDX-License-Identifier: Apache-2.0
// The inputs of the search for splits: graph, mesh, times and rules. For shard() alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/shard_facts.h"
#include "model/lower/shard_rules.h"

namespace superstep {

struct ShardProblem {
  ShardProblem(const Graph& whole, const ShardFacts& found, TensorParallel split_over,
               const CollectiveTime& collective_time, const WorkTime& work_time, const ShardRules& shard_rules);

  const Graph& graph;
  const ShardFacts& facts;
  TensorParallel mesh;
  const CollectiveTime& collective;
  const WorkTime& work;
  ShardRules rules;
  bool training;
  // By tensor: the data dimension that split_activations splits over t1; Sharding::replicated: none.
  std::vector<std::int8_t> data_dimension;

  std::int64_t size(int j) const { return j == 0 ? mesh.t1 : mesh.t2; }  // IPUs along mesh dimension j
};

// True if an extent may be split into `parts`: shares are equal, or so large that rounding hardly counts (a vocabulary
// of 50257).
inline bool divides(std::int64_t extent, std::int64_t parts) { return extent % parts == 0 || extent >= 256 * parts; }

}  // namespace superstep
