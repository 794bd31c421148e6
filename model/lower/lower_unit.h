// SPDX-License-Identifier: Apache-2.0
// One unit of a graph in one pass, as supersteps of one IPU.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/lower/program.h"
#include "model/lower/tile_plan.h"

namespace superstep {

// Facts of a graph that lowering asks for again and again.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  const Graph& graph;
  std::vector<std::uint64_t> signatures;                    // by unit
  std::vector<std::vector<TensorId>> weights;               // by unit: weights first used there
  std::vector<std::vector<TensorId>> borrowed;              // by unit: weights of earlier units it uses as well (tied)
  std::vector<std::pair<std::int64_t, std::int64_t>> tied;  // units: owner and borrower of weights, by borrower
  std::vector<std::vector<TensorId>> boundary;  // by unit: forward results of earlier units read in it or after it
  std::vector<std::vector<TensorId>> feeds;     // by unit: graph inputs first read there
  std::vector<bool> contributes;                // by tensor: summand of a weight's gradient, added to the accumulator
  std::vector<TensorId> summand_of;             // the weight of whose gradient it is a summand; invalid: of none
  std::vector<bool> read_in_backward;           // by tensor: forward result that a backward op of its own unit reads
  // By tensor: forward ops that make it again from what is kept, in order, where that is a scale and a
  // shift of a kept tensor (the result of a normalisation); empty: it is kept when the backward reads it.
  std::map<TensorId, std::vector<OpId>> remade;
  std::vector<bool> leaves_unit;  // by tensor: read by another unit in the same pass, or a result

 private:
  void find_remade();
};

struct UnitContext {
  const GraphFacts& facts;
  const GraphSharding& sharding;
  const Chip& chip;
  ProductFronts& fronts;
  std::int64_t tiles = 0;  // compute tiles
  Bytes temporary_cap;     // per op and tile
  DType partials = DType::fp16;
  bool accumulate = true;  // gradients are added to an accumulator (several micro-batches per step)
  Serialisation serialisation;
  GroupShape update_group;  // update pass: replicas that share the work of one update
};

Function lower_unit(const UnitContext& context, UnitId unit, Pass pass);

// Vertex code that a tile holds to run these kinds of vertex.
Bytes vertex_code(const VertexSet& kinds);

// Bytes per tile of a tensor spread over the tiles of an IPU in 8-byte grains.
Bytes per_tile(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor, std::int64_t tiles);
// Bytes one IPU holds of it.
Bytes on_ipu(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor);

}  // namespace superstep
