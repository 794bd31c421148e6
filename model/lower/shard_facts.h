// SPDX-License-Identifier: Apache-2.0
// Facts of a graph that shard() needs and that do not depend on the mesh. Found once for all degrees of tensor
// parallelism.
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

  // Ops that are solved together, in the order they run: of a pass of a block, those of one turn of a loop, or those
  // before, between or behind loops.
  struct Piece {
    std::uint64_t signature = 0;  // equal for pieces that are split alike
    std::vector<OpId> ops;
  };
  // All units of one layer, or one unit that is in no layer.
  struct Block {
    std::vector<UnitId> units;
    std::uint64_t signature = 0;                                // hash of the signatures of the units
    std::array<std::vector<Piece>, std::size(kPasses)> pieces;  // by pass, in the order they run
    // Tensors that the block's update reads but does not make, each with the weight whose sharding it has. Invalid
    // weight: the tensor is replicated.
    std::vector<std::pair<TensorId, TensorId>> states;
  };
  std::vector<std::vector<bool>> data;    // data_dimensions()
  std::vector<std::uint64_t> signatures;  // unit_signatures()
  std::vector<Block> blocks;
  std::vector<TensorId> summand_of;  // gradient_summands()
  // By tensor. kept: true for forward results that a backward op reads. crosses: true if another block reads the
  // tensor, or another piece of the same pass, or if the tensor is a result of the graph.
  std::vector<bool> kept, crosses;
  std::vector<TensorId> replaces;  // by tensor: the weight or state whose new value the tensor is; invalid: none

 private:
  void sign_pieces(const Graph& graph, Block& block) const;
};

// Returns, by tensor and dimension, true if the dimension carries samples or positions (data) rather than features.
std::vector<std::vector<bool>> data_dimensions(const Graph& graph);

// Returns a number for each unit, equal for units whose ops are split alike. Such units do the same work on tensors of
// the same data dimensions, borrow the same weights, and are in equal blocks. Such units also have the same results
// read by other units.
std::vector<std::uint64_t> unit_signatures(const Graph& graph, const std::vector<std::vector<bool>>& data);

// Returns, by tensor, the weight whose gradient the tensor is, or is added into (through sums and views). Invalid:
// none.
std::vector<TensorId> gradient_summands(const Graph& graph);

}  // namespace superstep
