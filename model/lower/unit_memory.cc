// SPDX-License-Identifier: Apache-2.0
#include "model/lower/unit_memory.h"

#include <algorithm>
#include <map>

#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep {

UnitMemory::UnitMemory(const GraphFacts& facts, UnitId unit, Pass pass) : facts_(facts), unit_(unit), pass_(pass) {
  const Graph& graph = facts.graph;
  const std::vector<OpId>& ops = graph.units[unit].ops[static_cast<std::size_t>(pass)];
  std::vector<TensorId> touched;
  for (OpId id : ops) {
    for (const auto* tensors : {&graph.ops[id].inputs, &graph.ops[id].outputs}) {
      for (TensorId t : *tensors) {
        if (t.valid()) touched.push_back(facts.root(t));
      }
    }
  }
  std::ranges::sort(touched);
  const auto repeated = std::ranges::unique(touched);
  touched.erase(repeated.begin(), repeated.end());
  roots_.reserve(touched.size());
  for (TensorId t : touched) roots_.push_back({.tensor = t});

  const auto index = [](TensorId t) { return static_cast<std::size_t>(t.index); };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = graph.ops[ops[i]];
    if (!joins_summands(facts, op)) {
      for (TensorId t : op.inputs) {
        if (t.valid()) at(t).last_use = static_cast<std::int64_t>(i);
      }
    }
    for (TensorId t : op.outputs) {
      const bool crosses = facts.leaves_unit[index(t)] && !facts.contributes[index(t)];
      const bool kept = pass == Pass::forward && facts.read_in_backward[index(t)];
      if (!crosses && !kept) continue;
      Root& r = at(t);
      r.only_backward = !crosses && (!r.stays || r.only_backward);
      r.stays = true;
      r.own = r.own || kept;
    }
  }
}

const UnitMemory::Root* UnitMemory::find(TensorId t) const {
  const auto it = std::ranges::lower_bound(roots_, facts_.root(t), {}, &Root::tensor);
  return it != roots_.end() && it->tensor == facts_.root(t) ? &*it : nullptr;
}

UnitMemory::Root& UnitMemory::at(TensorId t) {
  const Root* r = find(t);
  SUPERSTEP_CHECK(r != nullptr, "no op of the unit reads or makes " + facts_.graph.tensors[t].name);
  return roots_[static_cast<std::size_t>(r - roots_.data())];
}

bool UnitMemory::holds(TensorId t) const {
  const Root* r = find(t);
  return r != nullptr && r->live;
}

// With the views that earlier units made: these may lie in larger shares.
std::vector<TensorId> UnitMemory::incoming() const {
  const auto u = static_cast<std::size_t>(unit_.index);
  if (pass_ == Pass::update) return {};
  if (pass_ == Pass::backward) return facts_.gradients[u + 1];
  std::vector<TensorId> tensors = facts_.boundary[u];
  const Graph& graph = facts_.graph;
  for (std::size_t i = 0, n = tensors.size(); i < n; ++i) {
    const auto views = facts_.views.find(tensors[i]);
    if (views == facts_.views.end()) continue;
    for (TensorId t : views->second) {
      const Op& view = graph.ops[graph.tensors[t].producer];
      if (view.pass == Pass::forward && view.unit < unit_) tensors.push_back(t);
    }
  }
  return tensors;
}

std::set<TensorId> UnitMemory::roots_of_outgoing() const {
  const auto u = static_cast<std::size_t>(unit_.index);
  std::set<TensorId> roots;
  for (TensorId t : pass_ == Pass::backward ? facts_.gradients[u] : facts_.boundary[u + 1])
    roots.insert(facts_.root(t));
  return roots;
}

Bytes UnitMemory::add_incoming(const std::function<Bytes(TensorId)>& bytes_of) {
  std::map<TensorId, Bytes> by_root;
  for (TensorId t : incoming()) {
    Bytes& bytes = by_root[facts_.root(t)];
    bytes = std::max(bytes, bytes_of(t));
  }
  const std::set<TensorId> outgoing = roots_of_outgoing();
  Bytes sum(0);
  for (const auto& [root, bytes] : by_root) {
    sum += bytes;
    if (find(root) == nullptr) {
      always_.push_back({root, false, false, bytes, step_, 0});
      live_bytes_ += bytes, live_keeping_ += bytes;
      continue;
    }
    Root& r = at(root);
    r.only_backward = pass_ == Pass::forward && outgoing.count(root) == 0;
    r.stays = r.only_backward || outgoing.count(root) > 0;
    hold(root, bytes);
  }
  return sum;
}

const std::vector<OpId>* UnitMemory::to_remake(TensorId t) const {
  if (pass_ != Pass::backward || !t.valid()) return nullptr;
  const auto it = facts_.remade.find(facts_.root(t));
  const bool here = it != facts_.remade.end() && facts_.graph.ops[it->second[0]].unit == unit_;
  return here && !holds(t) ? &it->second : nullptr;
}

void UnitMemory::gather(TensorId t, Bytes bytes) {
  live_bytes_ += bytes, live_keeping_ += bytes;
  gathered_ = {t, true, false, bytes, step_, 0};
}

void UnitMemory::drop_gathered() {
  live_bytes_ -= gathered_.bytes, live_keeping_ -= gathered_.bytes;
  end(gathered_);
}

void UnitMemory::end(LiveRange range) {
  range.last = step_ - 1;
  if (range.bytes.value > 0 && range.first <= range.last) ended_.push_back(range);
}

std::vector<LiveRange> UnitMemory::take_ranges() {
  for (const LiveRange& range : always_) end(range);
  for (const Root& r : roots_) {
    if (r.live) end({r.tensor, false, r.stays, r.bytes, r.first, 0});
  }
  std::stable_sort(ended_.begin(), ended_.end(),
                   [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; });
  return std::move(ended_);
}

void UnitMemory::hold(TensorId t, Bytes bytes) {
  Root& r = at(t);
  // A second part of the same storage: the first stands until the end.
  if (r.live) always_.push_back({r.tensor, false, false, r.bytes, r.first, 0});
  r.live = true;
  r.bytes = bytes;
  r.first = step_;
  live_bytes_ += bytes, live_keeping_ += bytes;
}

void UnitMemory::hold_result(TensorId t, Bytes bytes, std::size_t position, const Op* replaces) {
  if (const TensorId old = facts_.sharding.replaces[static_cast<std::size_t>(t.index)]; old.valid()) {
    const Root* r = find(old);
    if (r == nullptr || r->last_use <= static_cast<std::int64_t>(position)) return;
  }
  if (replaces) {
    for (TensorId in : replaces->inputs) {
      if (!in.valid()) continue;
      Root& r = at(in);
      if (!r.live || r.bytes != bytes || !r.dies_at(position)) continue;
      free_root(r);
      break;
    }
  }
  hold(t, bytes);
  Root& r = at(t);
  if (r.last_use == kNever && !r.stays) r.last_use = static_cast<std::int64_t>(position);
}

void UnitMemory::free_root(Root& r) {
  if (!r.live) return;
  live_bytes_ -= r.bytes;
  if (!r.stays) live_keeping_ -= r.bytes;
  end({r.tensor, false, r.stays, r.bytes, r.first, 0});
  r.live = false;
}

void UnitMemory::release(const Op& op, std::size_t position) {
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (TensorId t : *tensors) {
      if (!t.valid()) continue;
      Root& r = at(t);
      if (r.dies_at(position)) free_root(r);
    }
  }
}

UnitMemory::Kept UnitMemory::kept(const std::function<Bytes(TensorId)>& bytes_of) const {
  Kept kept{Bytes(0), Bytes(0)};
  const Graph& graph = facts_.graph;
  for (const Root& r : roots_) {
    const OpId producer = graph.tensors[r.tensor].producer;
    if (!r.stays || !producer.valid() || graph.ops[producer].unit != unit_) continue;
    (r.own ? kept.own : kept.crossing) += bytes_of(r.tensor);
  }
  return kept;
}

Bytes held_by_layer(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of) {
  if (pass == Pass::update) return Bytes(0);
  const auto checkpoint = [&](std::int64_t u) {
    return checkpoint_of(facts.graph.units[UnitId(static_cast<std::size_t>(u))]);
  };
  const std::int64_t last = unit.index, layer = checkpoint(last);
  Bytes sum(0);
  for (std::int64_t u = last; u >= 0 && (u == last || (layer >= 0 && checkpoint(u) == layer)); --u) {
    if (u == last && pass == Pass::forward) continue;
    const UnitMemory::Kept kept = UnitMemory(facts, UnitId(static_cast<std::size_t>(u)), Pass::forward).kept(bytes_of);
    sum += kept.own + (u < last ? kept.crossing : Bytes(0));
  }
  return sum;
}

Bytes weights_of_unit(const GraphFacts& facts, UnitId unit, std::optional<DType> gradients,
                      const std::function<Bytes(TensorId)>& bytes_of) {
  Bytes sum(0);
  for (const auto* of_units : {&facts.weights, &facts.borrowed}) {
    for (const TensorId w : (*of_units)[static_cast<std::size_t>(unit.index)]) {
      const Bytes bytes = bytes_of(w);
      sum += bytes;
      if (gradients && facts.trained(w))
        sum += Bytes(bytes.value * size_of(*gradients) / size_of(facts.graph.info(w).type));
    }
  }
  return sum;
}

// As lower_unit() goes over the ops, where it notes Footprint::standing.
Bytes standing_alone(const GraphFacts& facts, UnitId unit, Pass pass, const std::function<Bytes(TensorId)>& bytes_of) {
  const Graph& graph = facts.graph;
  const auto contributes = [&](TensorId t) { return facts.contributes[static_cast<std::size_t>(t.index)]; };
  UnitMemory memory(facts, unit, pass);
  memory.add_incoming(bytes_of);
  Bytes most(0);
  const std::vector<OpId>& ops = graph.units[unit].ops[static_cast<std::size_t>(pass)];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = graph.ops[ops[i]];
    if (joins_summands(facts, op)) continue;
    for (TensorId t : op.inputs) {
      if (memory.to_remake(t)) memory.hold(t, bytes_of(facts.root(t)));
    }
    most = std::max(most, memory.live());
    if (!op.def->view) {
      for (TensorId t : op.outputs) memory.hold_result(t, contributes(t) ? Bytes(0) : bytes_of(t), i, nullptr);
    }
    if (op.def->product) most = std::max(most, memory.live());
    memory.release(op, i);
  }
  return most;
}

}  // namespace superstep
