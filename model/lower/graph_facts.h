// SPDX-License-Identifier: Apache-2.0
// Facts of a graph that lowering asks for again and again.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/lower/shard.h"
#include "model/lower/shard_facts.h"

namespace superstep {

// A weight in a unit that is not the first to use it. A unit that borrows several is known by the first of them.
struct TiedUnit {
  TensorId weight;
  std::int64_t owner, borrower;
  std::int64_t before;  // of those that borrow the same one before it the last, by its place in the list; -1: none
};

struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  const Graph& graph;
  ShardFacts sharding;
  std::vector<std::uint64_t> signatures;            // by unit: equal for the same work beside the same tensors
  std::vector<std::uint64_t> update_signatures;     // by unit: signature() of its update
  std::vector<std::vector<TensorId>> weights;       // by unit: weights first used there
  std::vector<std::vector<TensorId>> borrowed;      // by unit: weights of earlier units it uses as well (tied)
  std::vector<TiedUnit> tied;                       // by borrower
  std::vector<std::vector<TensorId>> boundary;      // by unit: forward results of earlier units read in it or after it
  std::map<TensorId, std::vector<TensorId>> views;  // of a forward result, however many lie between
  // By unit: backward results of it or later units, and views of them, as earlier units read them.
  std::vector<std::vector<TensorId>> gradients;
  std::vector<std::vector<TensorId>> feeds;  // by unit: graph inputs first read there
  std::vector<bool> contributes;             // by tensor: summand of a weight's gradient, added to the accumulator
  std::vector<bool> read_in_backward;        // by tensor: forward result that a backward op of its own unit reads
  // By tensor: forward ops that make it again from what is kept, in order, where that is a scale and a
  // shift of a kept tensor (the result of a normalisation); empty: it is kept when the backward reads it.
  std::map<TensorId, std::vector<OpId>> remade;
  // The tensor that a view shows, however many views lie between; a tensor that is no view itself.
  TensorId root(TensorId t) const { return roots_[static_cast<std::size_t>(t.index)]; }
  bool trained(TensorId weight) const { return trained_[static_cast<std::size_t>(weight.index)]; }
  std::vector<bool> leaves_unit;  // by tensor: read by another unit in the same pass, or a result

 private:
  std::vector<bool> trained_;
  std::vector<TensorId> roots_;  // by tensor
  void find_remade();
  void find_gradients();
  void tell_apart_by_standing();
  void find_update_signatures();
};

// A sum of summands of one weight's gradient: no work of its own, since the accumulator takes them one by one.
bool joins_summands(const GraphFacts& facts, const Op& op);

// Bytes per tile of what is spread over the tiles of an IPU in 8-byte grains.
Bytes per_tile(Bytes on_ipu, std::int64_t tiles);
Bytes per_tile(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor, std::int64_t tiles);
// Bytes one IPU holds of it.
Bytes on_ipu(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor);

}  // namespace superstep
