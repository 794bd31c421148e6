// SPDX-License-Identifier: Apache-2.0
#include "model/lower/unit_memory.h"

#include <algorithm>

#include "model/ops/op.h"

namespace superstep {

UnitMemory::UnitMemory(const GraphFacts& facts, const std::vector<OpId>& ops, Pass pass) : facts_(facts) {
  const auto at = [](TensorId t) { return static_cast<std::size_t>(t.index); };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (joins_summands(facts, facts.graph.ops[ops[i]])) continue;
    for (TensorId t : facts.graph.ops[ops[i]].inputs) {
      if (t.valid()) last_use_[root(t)] = i;
    }
  }
  for (OpId id : ops) {
    for (TensorId t : facts.graph.ops[id].outputs) {
      const bool crosses = facts.leaves_unit[at(t)] && !facts.contributes[at(t)];
      const bool kept = pass == Pass::forward && facts.read_in_backward[at(t)];
      if (crosses || kept) {
        const TensorId r = root(t);
        stays_.insert(r);
        if (kept) own_.insert(r);
        auto [it, fresh] = only_backward_.try_emplace(r, !crosses);
        if (crosses) it->second = false;
      }
    }
  }
}

void UnitMemory::add(TensorId t, Bytes bytes) {
  live_bytes_ += bytes, live_keeping_ += bytes;
  always_.push_back({root(t), false, false, bytes, step_, 0});
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
  for (const auto& [r, live] : live_) end({r, false, stays_.count(r) > 0, live.bytes, live.first, 0});
  std::stable_sort(ended_.begin(), ended_.end(),
                   [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; });
  return std::move(ended_);
}

void UnitMemory::hold(TensorId t, Bytes bytes) {
  const TensorId r = root(t);
  // A second part of the same storage: the first stands until the end.
  if (const auto it = live_.find(r); it != live_.end())
    always_.push_back({r, false, false, it->second.bytes, it->second.first, 0});
  live_[r] = {bytes, step_};
  live_bytes_ += bytes, live_keeping_ += bytes;
}

void UnitMemory::hold_result(TensorId t, Bytes bytes, std::size_t position, const Op* replaces) {
  if (const TensorId old = facts_.sharding.replaces[static_cast<std::size_t>(t.index)]; old.valid()) {
    const auto use = last_use_.find(root(old));
    if (use == last_use_.end() || use->second <= position) return;
  }
  if (replaces) {
    for (TensorId in : replaces->inputs) {
      if (!in.valid()) continue;
      const TensorId r = root(in);
      const auto it = live_.find(r);
      if (it == live_.end() || it->second.bytes != bytes || last_use_.at(r) != position || dies_later(r)) continue;
      free_root(r);
      break;
    }
  }
  hold(t, bytes);
  if (!last_use_.count(t) && !stays_.count(t)) last_use_[t] = position;
}

void UnitMemory::free_root(TensorId r) {
  const auto it = live_.find(r);
  if (it == live_.end()) return;
  const Bytes bytes = it->second.bytes;
  const bool stays = stays_.count(r) > 0;
  live_bytes_ -= bytes;
  if (!stays) live_keeping_ -= bytes;
  end({r, false, stays, bytes, it->second.first, 0});
  live_.erase(it);
}

void UnitMemory::release(const Op& op, std::size_t position) {
  auto consider = [&](TensorId t) {
    const TensorId r = root(t);
    const auto use = last_use_.find(r);
    if (use == last_use_.end() || use->second != position || dies_later(r)) return;
    free_root(r);
  };
  for (TensorId t : op.inputs) {
    if (t.valid()) consider(t);
  }
  for (TensorId t : op.outputs) consider(t);
}

}  // namespace superstep
