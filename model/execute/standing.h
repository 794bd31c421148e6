// SPDX-License-Identifier: Apache-2.0
// When the results of a unit go, and how much of them stands meanwhile. Told by the graph and by what the executed
// machine holds: UnitMemory, by which a program's memory is costed, reads the same elsewhere, and the two must agree.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "model/execute/wiring.h"

namespace superstep {

class Standing {
 public:
  Standing(const Graph& graph, const Wiring& wiring, UnitId unit, Pass pass);

  // Results of other units, or views of them, that stand when the pass begins.
  const std::set<TensorId>& incoming() const { return incoming_; }

  using BytesOf = std::function<Bytes(TensorId)>;
  // `root`, of incoming tensors, stands with `bytes`: to its last reader here, or to the end if other units read it.
  void comes_in(TensorId root, Bytes bytes) { standing_[root] = bytes; }
  // `t`, a result of the forward pass, is there again.
  void remade(TensorId t, Bytes bytes) { standing_[t] = bytes; }
  // What stands while the op at `position` computes, its results included: each takes the place of an operand of its
  // size that nobody reads any more, but not a product's; new values of weights and states that of the old ones.
  Bytes during(std::size_t position, const BytesOf& bytes_of);
  // Tensors, and views of them, that nobody needs after the op at `position`.
  std::vector<TensorId> over(std::size_t position);

 private:
  const Graph& graph_;
  const Wiring& wiring_;
  const std::vector<OpId>& ops_;
  std::set<TensorId> incoming_, came_in_;              // came_in_: their roots
  std::map<TensorId, std::size_t> last_use_;           // position of the last reader of a tensor or its views
  std::map<TensorId, std::vector<TensorId>> sharing_;  // views made here, and what they show
  std::map<TensorId, TensorId> old_;                   // of new values: the ones that they replace
  std::set<TensorId> crossing_;                        // read by other units in this pass
  std::set<TensorId> kept_;                            // forward: values are read after the pass
  std::map<TensorId, Bytes> standing_;                 // by root; what is only kept counts to its last reader here

  TensorId root(TensorId t) const { return wiring_.root[static_cast<std::size_t>(t.index)]; }
  bool replaces_old(TensorId t, std::size_t position) const;
  bool ends(TensorId root, std::size_t position) const;
  void take_place(const Op& op, std::size_t position, Bytes bytes);
};

}  // namespace superstep
