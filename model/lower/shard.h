// SPDX-License-Identifier: Apache-2.0
// Derives tensor parallelism over the t IPUs of a mesh from a graph. The result is the split axis of each op, the
// sharding of every stored tensor, and the collectives that join shards.
//
// Each op declares its axes. A dynamic programme over the ops of a block finds the splits with least time. Its state is
// the sharding of the live tensors. The result is exact unless a block leads to more states than a limit allows. A
// block is all units of one layer, or one unit that is in no layer.
//
// Tensors that cross blocks are replicated, and axes that carry samples or positions (data) are not split. The rule
// ShardRules::split_activations splits such tensors along a data axis instead. In the backward pass the stored tensors
// of the forward pass are given. A weight's gradient is stored as the weight is.
#pragma once

#include "model/graph/graph.h"
#include "model/lower/shard_rules.h"
#include "model/program/plan.h"
#include "model/program/sharding.h"

namespace superstep {

// Returns the splits with least time.
GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules = {});
// Returns the splits with least time, for callers that have the facts of the graph.
struct ShardFacts;
GraphSharding shard(const Graph& graph, const ShardFacts& facts, TensorParallel mesh, const CollectiveTime& collective,
                    const WorkTime& work, const ShardRules& rules);

}  // namespace superstep
