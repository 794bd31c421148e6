// SPDX-License-Identifier: Apache-2.0
#include "model/execute/standing.h"

#include <algorithm>
#include <numeric>

#include "model/graph/op_def.h"

namespace superstep {

Standing::Standing(const Graph& graph, const Wiring& wiring, UnitId unit, Pass pass)
    : graph_(graph), wiring_(wiring), ops_(graph.units[unit].ops[static_cast<std::size_t>(pass)]) {
  const auto u = static_cast<std::size_t>(unit.index);
  if (pass == Pass::forward) {
    incoming_ = wiring.forward[u];
    for (TensorId t : wiring.forward[u + 1]) crossing_.insert(root(t));
  }
  if (pass == Pass::backward) {
    incoming_ = wiring.backward[u + 1];
    for (TensorId t : wiring.backward[u]) crossing_.insert(root(t));
  }
  for (TensorId t : incoming_) came_in_.insert(root(t));
  for (const auto& [old, made] : graph.updates) old_.emplace(made, old);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = graph.ops[ops_[i]];
    if (wiring.joins.count(ops_[i])) continue;  // accumulators take the summands one by one
    for (TensorId t : op.inputs) {
      if (t.valid()) last_use_[root(t)] = i;
    }
    for (TensorId t : op.outputs) {
      const auto at = static_cast<std::size_t>(t.index);
      sharing_[root(t)].push_back(t);
      if (pass == Pass::forward && wiring.leaves[at]) (came_in_.count(root(t)) ? kept_ : crossing_).insert(root(t));
      if (pass == Pass::forward && wiring.kept[at]) kept_.insert(root(t));
    }
  }
}

bool Standing::replaces_old(TensorId t, std::size_t position) const {
  const auto old = old_.find(t);
  if (old == old_.end()) return false;
  const auto use = last_use_.find(root(old->second));
  return use == last_use_.end() || use->second <= position;
}

bool Standing::ends(TensorId root, std::size_t position) const {
  const auto use = last_use_.find(root);
  return (use == last_use_.end() || use->second == position) && crossing_.count(root) == 0;
}

void Standing::take_place(const Op& op, std::size_t position, Bytes bytes) {
  for (TensorId t : op.inputs) {
    if (!t.valid()) continue;
    const auto at = standing_.find(root(t));
    if (at == standing_.end() || at->second != bytes || !ends(at->first, position)) continue;
    standing_.erase(at);
    return;
  }
}

Bytes Standing::during(std::size_t position, const BytesOf& bytes_of) {
  const Op& op = graph_.ops[ops_[position]];
  for (TensorId t : op.outputs) {
    if (op.def->view || replaces_old(t, position)) continue;
    const Bytes bytes = bytes_of(t);
    if (!op.def->product) take_place(op, position, bytes);
    standing_[t] = bytes;
  }
  return std::accumulate(standing_.begin(), standing_.end(), Bytes(0),
                         [](Bytes sum, const auto& entry) { return sum + entry.second; });
}

std::vector<TensorId> Standing::over(std::size_t position) {
  const Op& op = graph_.ops[ops_[position]];
  std::set<TensorId> ended;
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (TensorId t : *tensors) {
      if (t.valid() && sharing_.count(root(t)) + standing_.count(root(t)) > 0 && ends(root(t), position))
        ended.insert(root(t));
    }
  }
  std::vector<TensorId> gone;
  for (TensorId r : ended) {
    const bool made = standing_.erase(r) > 0 && came_in_.count(r) == 0;  // not what these are only views of
    if (kept_.count(r) || old_.count(r)) continue;
    if (made) gone.push_back(r);
    gone.insert(gone.end(), sharing_[r].begin(), sharing_[r].end());
  }
  return gone;
}

}  // namespace superstep
