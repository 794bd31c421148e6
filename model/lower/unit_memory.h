// SPDX-License-Identifier: Apache-2.0
// What stands on a tile while the ops of a unit run, in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/lower/graph_facts.h"
#include "model/lower/program.h"

namespace superstep {

// Counts results from the op that makes them to their last reader in this pass; what is read after the pass stays. A
// view has no bytes of its own: tensors are counted by their root.
class UnitMemory {
 public:
  UnitMemory(const GraphFacts& facts, UnitId unit, Pass pass);

  Bytes live() const { return live_bytes_; }
  Bytes live_keeping() const { return live_keeping_; }  // forward: when all that the backward pass reads stays
  bool holds(TensorId t) const;

  // What crosses into this pass of the unit stands there all the while: of views of one tensor the largest. Returns the
  // sum of these.
  Bytes add_incoming(const std::function<Bytes(TensorId)>& bytes_of);
  // Ops that make again what `t` shows, which the forward pass of the unit did not keep; null: it is there, or kept.
  const std::vector<OpId>* to_remake(TensorId t) const;
  // What is gathered for the op that makes `t` stands beside the tensors, until it is taken away.
  void gather(TensorId t, Bytes bytes);
  void drop_gathered();
  // From now on the root of `t`, which an op here reads or makes, is there.
  void hold(TensorId t, Bytes bytes);
  // A result of the op at `position`. `replaces`: an elementwise op, whose result takes the place of an operand that
  // dies there; null: it needs a place of its own. A new value of a weight or a state takes the place of the old one if
  // nobody reads that any more.
  void hold_result(TensorId t, Bytes bytes, std::size_t position, const Op* replaces);
  // Frees what the op at `position` was the last to read.
  void release(const Op& op, std::size_t position);

  // The function has one step more; what is held and released from now on is so for the next one.
  void next_step() { ++step_; }
  // What was there, step by step. Afterwards there is nothing more.
  std::vector<LiveRange> take_ranges();

  // What the forward pass makes that stays, by root, in what `bytes_of` counts tensors in.
  struct Kept {
    Bytes own;       // that this unit's backward pass reads
    Bytes crossing;  // that only others read
  };
  Kept kept(const std::function<Bytes(TensorId)>& bytes_of) const;

 private:
  static constexpr std::int64_t kNever = -1;
  // What ops here read or make.
  struct Root {
    TensorId tensor;
    std::int64_t last_use = kNever;  // position of its last reader here
    bool stays = false;              // read after this function, by this pass or (forward) only backward
    bool own = false;                // of those that stay: this unit's backward pass reads it
    bool only_backward = false;      // of those that stay: nobody else reads it
    bool live = false;               // there
    Bytes bytes;
    std::int32_t first = 0;  // step from which it is there

    bool dies_at(std::size_t position) const {
      return last_use == static_cast<std::int64_t>(position) && (!stays || only_backward);
    }
  };

  const GraphFacts& facts_;
  UnitId unit_;
  Pass pass_;
  std::vector<Root> roots_;  // by tensor
  Bytes live_bytes_, live_keeping_;
  std::vector<LiveRange> always_, ended_;
  LiveRange gathered_;
  std::int32_t step_ = 0;

  std::vector<TensorId> incoming() const;
  const Root* find(TensorId t) const;  // of `t`; null: no op here reads or makes it
  Root& at(TensorId t);
  void free_root(Root& r);
  void end(LiveRange range);
};

// What stands at one time while one IPU runs a pass of the unit by itself, whatever its tile plans, in what `bytes_of`
// counts tensors in: bytes per tile, or of the IPU. If tensors are split over t IPUs, one of them has the t-th part or
// more: each tensor is somewhere. Without weights, their gradients, and what is gathered.
Bytes standing_alone(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of);

// What the layer of a unit keeps while a pass of the unit runs, where the layer's forward pass is run again just before
// its backward pass: in the forward pass of the units in front, in the backward pass of the unit as well. Units that
// share a checkpoint are a layer.
Bytes held_by_layer(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of);

// The weights of a unit, those that it borrows too, and where they are trained (`gradients`: their type) their
// gradients.
Bytes weights_of_unit(const GraphFacts& facts, UnitId unit, std::optional<DType> gradients,
                      const std::function<Bytes(TensorId)>& bytes_of);

}  // namespace superstep
