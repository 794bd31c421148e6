// SPDX-License-Identifier: Apache-2.0
// What is known of a graph before its splits are chosen. For shard() alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/shard.h"
#include "model/lower/shard_facts.h"

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
  std::vector<std::int8_t> data_dimension;  // by tensor: where its activations are split; replicated: nowhere

  std::int64_t size(int j) const { return j == 0 ? mesh.t1 : mesh.t2; }
};

// Shares must be equal, or so large that rounding up the last one hardly counts: a vocabulary of 50257.
inline bool divides(std::int64_t extent, std::int64_t parts) { return extent % parts == 0 || extent >= 256 * parts; }

}  // namespace superstep
