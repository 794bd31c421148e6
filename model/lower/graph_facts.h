// SPDX-License-Identifier: Apache-2.0
// Facts of a graph that do not depend on a plan, found once for all lowerings.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/lower/shard_facts.h"
#include "model/program/sharding.h"

namespace superstep {

// A unit (borrower) that uses a weight which another unit (owner) uses first. Only the first of several borrowed
// weights is recorded.
struct TiedUnit {
  TensorId weight;
  std::int64_t owner, borrower;
  std::int64_t before;  // index in GraphFacts::tied of the previous borrower of the weight; -1: none
};

struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  const Graph& graph;
  ShardFacts sharding;
  std::vector<std::uint64_t> signatures;         // by unit: equal for equal work with equal boundaries
  std::vector<std::uint64_t> update_signatures;  // by unit: signature() of the update
  std::vector<std::vector<TensorId>> weights;    // by unit: weights that the unit is the first to use
  std::vector<std::vector<TensorId>> borrowed;   // by unit: weights of earlier units that the unit uses too (tied)
  std::vector<TiedUnit> tied;                    // ascending by borrower
  // By unit u, and for the end of the model: forward results of units before u that unit u or a later unit reads.
  std::vector<std::vector<TensorId>> boundary;
  std::map<TensorId, std::vector<TensorId>> views;  // by root: all direct and indirect views of a forward result
  // By unit u, and for the end of the model: backward results of unit u or later units that units before u read. A view
  // is listed as itself, not as its root.
  std::vector<std::vector<TensorId>> gradients;
  std::vector<std::vector<TensorId>> feeds;  // by unit: graph inputs that the unit is the first to read
  // By unit: results of the graph that the unit makes and the host reads. None in training, whose result is one number.
  std::vector<std::vector<TensorId>> results;
  std::vector<bool> contributes;       // by tensor: true if a summand of a weight's gradient (see joins_summands())
  std::vector<bool> read_in_backward;  // by tensor: true if a forward result kept for its own unit's backward pass
  // Forward ops that make a tensor again for the backward pass, in order, by tensor. Such a tensor is a scale and a
  // shift of a kept tensor (the result of a normalisation), and is not kept itself. Other tensors have no entry.
  std::map<TensorId, std::vector<OpId>> remade;
  // Returns the tensor whose elements a direct or indirect view shows. A tensor that is no view is its own root.
  TensorId root(TensorId t) const { return roots_[static_cast<std::size_t>(t.index)]; }
  // True if the graph makes a gradient of the weight.
  bool trained(TensorId weight) const { return trained_[static_cast<std::size_t>(weight.index)]; }
  // By tensor: true if read by another unit in the same pass. Also true of the loss, or in inference of all outputs.
  std::vector<bool> leaves_unit;

 private:
  std::vector<bool> trained_;
  std::vector<TensorId> roots_;  // by tensor
  void find_remade();
  void find_gradients();
  void tell_apart_by_standing();
  void find_update_signatures();
};

// True if the op only sums summands of a weight's gradient. Such an op is no work, since each summand is added to the
// accumulator by itself.
bool joins_summands(const GraphFacts& facts, const Op& op);

// Returns the bytes per tile of `on_ipu` bytes that are spread evenly over `tiles` tiles, rounded up to 8 bytes.
Bytes per_tile(Bytes on_ipu, std::int64_t tiles);
// Returns the bytes per tile of a tensor's part on one IPU.
Bytes per_tile(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor, std::int64_t tiles);
// Returns the bytes of a tensor's part on one IPU.
Bytes on_ipu(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor);

}  // namespace superstep
