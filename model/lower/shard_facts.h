// SPDX-License-Identifier: Apache-2.0
// What shard() asks of a graph whatever the mesh: found once for all degrees of tensor parallelism.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/graph/graph.h"
#include "model/lower/op_uses.h"

namespace superstep {

struct ShardFacts {
  explicit ShardFacts(const Graph& graph);
  OpUses uses;

  // All units of one layer, or one unit that is in no layer.
  struct Block {
    std::vector<UnitId> units;
    std::uint64_t signature = 0;                            // of the signatures of its units
    std::array<std::vector<OpId>, std::size(kPasses)> ops;  // by pass, in the order they run
    // What its update reads and does not make, with the weight that each lies as; invalid: it lies whole.
    std::vector<std::pair<TensorId, TensorId>> states;
  };
  std::vector<std::vector<bool>> data;    // data_dimensions()
  std::vector<std::uint64_t> signatures;  // unit_signatures()
  std::vector<Block> blocks;
  std::vector<TensorId> summand_of;  // gradient_summands()
  // By tensor: forward result that a backward op reads; read by another block in the pass that makes it, or a result;
  // weight or state that it is the next value of (invalid: of none).
  std::vector<bool> kept, crosses;
  std::vector<TensorId> replaces;
};

// Per tensor and dimension: does it carry samples or positions (data), as opposed to features.
std::vector<std::vector<bool>> data_dimensions(const Graph& graph);

// Of each unit: equal for units that do the same work on tensors of the same data dimensions, borrow the same weights,
// are in equal blocks, and of whose results the same ones are read outside: those whose ops are split alike.
std::vector<std::uint64_t> unit_signatures(const Graph& graph, const std::vector<std::vector<bool>>& data);

// By tensor: the weight whose gradient it is or is added into (through sums and views); invalid: none.
std::vector<TensorId> gradient_summands(const Graph& graph);

}  // namespace superstep
