// SPDX-License-Identifier: Apache-2.0
// Memory that tensors take on a tile while the ops of a unit run, in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "model/lower/graph_facts.h"
#include "model/program/program.h"

namespace superstep {

// Tracks the live bytes of a unit's tensors, op by op. A result is live from the op that makes it to its last reader in
// this pass. A result that is read after the pass stays live. Tensors are counted by their root, since a view has no
// bytes of its own.
class UnitMemory {
 public:
  UnitMemory(const GraphFacts& facts, UnitId unit, Pass pass);

  Bytes live() const { return live_bytes_; }            // live bytes now
  Bytes live_keeping() const { return live_keeping_; }  // forward: live bytes if all tensors that backward reads stay
  bool holds(TensorId t) const;                         // true if the root of `t` is live

  // Adds the tensors that cross into this pass of the unit. Each is live to its last reader here, or to the end if the
  // pass goes on to units that read it. If a tensor crosses as several views, the largest counts. Returns the sum of
  // the bytes added.
  Bytes add_incoming(const std::function<Bytes(TensorId)>& bytes_of);
  // Returns the ops that make the root of `t` again (GraphFacts::remade). Null: the root is live, or needs no such ops.
  const std::vector<OpId>* to_remake(TensorId t) const;
  // Adds bytes that are gathered for the op that makes `t`, until drop_gathered().
  void gather(TensorId t, Bytes bytes);
  void drop_gathered();
  // Makes the root of `t` live with `bytes`. An op of this pass must read or make the root.
  void hold(TensorId t, Bytes bytes);
  // Makes a result of the op at `position` live. `replaces`: the op, if its result may take the place of an operand of
  // equal size that is read last there. Null: the result needs memory of its own. A new value of a weight or a state
  // takes the place of the old value if no later op reads the old value.
  void hold_result(TensorId t, Bytes bytes, std::size_t position, const Op* replaces);
  // Frees operands and results of the op at `position` that no later op of the pass reads, and that do not stay.
  void release(const Op& op, std::size_t position);

  // Notes that a step was added to the function. Later changes count from the next step on.
  void next_step() { ++step_; }
  // Returns all live ranges in the order of their first steps, and ends tracking.
  std::vector<LiveRange> take_ranges();

  // Bytes of results of the forward pass that stay after the pass. Each root counts once, in the unit of `bytes_of`.
  struct Kept {
    Bytes own;       // read by this unit's backward pass
    Bytes crossing;  // read by other units only
  };
  Kept kept(const std::function<Bytes(TensorId)>& bytes_of) const;

 private:
  static constexpr std::int64_t kNever = -1;
  // A root that ops of this pass read or make.
  struct Root {
    TensorId tensor;
    std::int64_t last_use = kNever;  // position of the last reader in this pass
    bool stays = false;              // true: read after this function, in the same pass or in the backward pass
    bool own = false;                // true: stays, and this unit's backward pass reads the root
    bool only_backward = false;      // true: stays for the backward pass alone, no other unit reads it in this pass
    bool live = false;
    Bytes bytes;
    std::int32_t first = 0;  // first step of the current live range

    bool dies_at(std::size_t position) const {
      return last_use == static_cast<std::int64_t>(position) && (!stays || only_backward);
    }
  };

  const GraphFacts& facts_;
  UnitId unit_;
  Pass pass_;
  std::vector<Root> roots_;  // ascending by tensor
  Bytes live_bytes_, live_keeping_;
  std::vector<LiveRange> always_, ended_;
  LiveRange gathered_;
  std::int32_t step_ = 0;

  std::vector<TensorId> incoming() const;
  std::set<TensorId> roots_of_outgoing() const;  // read by units that this pass goes on to
  const Root* find(TensorId t) const;            // the root of `t`; null: no op of this pass reads or makes the root
  Root& at(TensorId t);
  void free_root(Root& r);
  void end(LiveRange range);
};

// Returns a lower bound on the peak of live bytes while one IPU alone runs a pass of the unit, for any tile plans. The
// result is in the unit of `bytes_of`: bytes per tile, or per IPU. If tensors are split over t IPUs, one of these IPUs
// has at least 1/t of the result, since each tensor lies on some IPU. Weights, their gradients and gathered bytes do
// not count.
Bytes standing_alone(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of);

// Returns the bytes that the layer of a unit keeps while a pass of the unit runs. The layer is recomputed: its forward
// pass runs again just before its backward pass. Results of earlier units of the layer count. For the backward pass the
// unit's own results count too. Units that share a checkpoint are a layer. The result is in the unit of `bytes_of`; 0
// for the update.
Bytes held_by_layer(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of);

// Returns the bytes of a unit's weights, borrowed weights included, and of the gradients of trained weights.
// `gradients`: type of the gradients; none: gradients do not count. The result is in the unit of `bytes_of`.
Bytes weights_of_unit(const GraphFacts& facts, UnitId unit, std::optional<DType> gradients,
                      const std::function<Bytes(TensorId)>& bytes_of);

}  // namespace superstep
