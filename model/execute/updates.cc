// SPDX-License-Identifier: Apache-2.0
#include "model/execute/updates.h"

#include <algorithm>

#include "model/error.h"
#include "model/execute/gradients.h"
#include "model/execute/settle.h"
#include "model/execute/unfinished.h"
#include "model/ops/compute.h"

namespace superstep {

// The gradients an update reads, of the global batch.
void Updates::finish_gradients(UnitId unit, std::int64_t group) {
  std::set<TensorId> gradients;
  for (OpId op : graph_.units[unit].ops[static_cast<std::size_t>(Pass::update)]) {
    for (TensorId t : graph_.ops[op].inputs) {
      if (t.valid() && graph_.tensors[t].kind == TensorKind::weight_gradient) gradients.insert(t);
    }
  }
  for (TensorId t : gradients) {
    const AccumulatorKey key{t, span_of(spans_, unit).phase};
    cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) {
      Ipu& ipu = cluster_.at(r, group, rank);
      ipu.lasting[t] = std::make_shared<const Local>(gradient(ipu, key, rank));
      ipu.accumulators.erase(key);
    });
    executed_.values[t] = joined(t, group, plan_.replicated_tensor_sharding.optimizer_state);
  }
}

Local Updates::gradient(const Ipu& ipu, AccumulatorKey key, std::int64_t rank) const {
  const TensorId t = key.first;
  const Block region = shard_region(graph_.info(t).shape, sharding_.of(t), cluster_.mesh(), rank);
  Local found = poisoned(graph_.info(t).type, region, sharding_.of(t));
  const auto at = ipu.accumulators.find(key);
  if (at == ipu.accumulators.end()) return found;
  const Accumulator& accumulator = at->second;
  if (accumulator.summands.empty()) {
    for (std::int64_t i = 0; i < found.values.info.elements(); ++i) found.values.set(i, accumulator.sum.values.at(i));
    return found;
  }
  found.values = summed(t, accumulator, found);
  if (accumulator.slices > 1) keep_slice(found, accumulator.slice, accumulator.slices, Outside::poison);
  return found;
}

// A gradient, or a sum of some of its summands, as the un-split graph adds them up.
Array Updates::summed(TensorId t, const Accumulator& accumulator, const Local& like) const {
  const OpId op = graph_.tensors[t].producer;
  if (!wiring_.joins.count(op)) {
    const auto at = accumulator.summands.find(t);
    return at == accumulator.summands.end() ? like.values : finished_summand(at->second, like);
  }
  const CallOf call(graph_, op);
  std::vector<Array> values;
  std::vector<ConstView> in;
  for (TensorId part : graph_.ops[op].inputs) values.push_back(summed(part, accumulator, like));
  for (const Array& value : values) in.push_back(view_of(value, like.region));
  const ResultPlace place = place_of(graph_, t);
  KernelContext context = context_;
  context.results = std::span(&place, 1);
  return compute_block(*call, call->def.space(*call), like.region, in, context)[0];
}

Array Updates::finished_summand(const Accumulator::Parts& parts, const Local& poison) const {
  std::vector<UnfinishedPtr> sums;
  for (const LocalPtr& part : {parts.shared, parts.own}) {
    if (part && !part->sums) return part->values;
    if (part) sums.push_back(part->sums);
  }
  const UnfinishedPtr all = superstep::joined(sums);
  return complete(*all) ? finished(graph_, *all, context_) : poison.values;
}

// A tensor of the update put together from slices over `shards` replicas and pieces over ranks.
Array Updates::joined(TensorId t, std::int64_t group, std::int64_t shards) {
  const Replicas replicas = replicas_of(plan_);
  std::vector<LocalPtr> ranks;
  for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
    std::vector<LocalPtr> slices;
    for (std::int64_t k = 0; k < shards; ++k)
      slices.push_back(held(cluster_.at(replicas.first_with(k, shards), group, rank).lasting, t));
    if (std::find(slices.begin(), slices.end(), nullptr) != slices.end())
      ranks.push_back(nullptr);
    else
      ranks.push_back(std::make_shared<const Local>(join_slices(slices, plan_)));
  }
  return assemble(graph_.info(t), ranks);
}
// New weights go to all replicas that took part in making them.
void Updates::gather_weights(std::int64_t group, const Step& s) {
  const Replicas replicas = replicas_of(plan_);
  const std::int64_t shards = plan_.replicated_tensor_sharding.optimizer_state;
  Bytes bytes(0);
  for (const auto& [old, made] : graph_.updates) {
    if (graph_.tensors[old].kind != TensorKind::weight || updated_.erase({group, old}) == 0) continue;
    bytes +=
        share(cluster_.at(0, group, 0).lasting.at(made)->values.info.bytes(), plan_.replicated_tensor_sharding.weights);
    for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
      std::vector<LocalPtr> whole;
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        Local all = *cluster_.at(r, group, rank).lasting.at(made);
        for (std::int64_t other : replicas_with(plan_, s.group, r)) {
          copy_slice(*cluster_.at(other, group, rank).lasting.at(made), all, replicas.shard_of(other, shards), shards);
        }
        whole.push_back(std::make_shared<const Local>(std::move(all)));
      }
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        cluster_.at(r, group, rank).lasting[made] = whole[static_cast<std::size_t>(r)];
      }
    }
  }
  executed_.count(s, bytes);
}

void Updates::note(UnitId unit, std::int64_t group) {
  for (const auto& [old, made] : graph_.updates) {
    if (graph_.ops[graph_.tensors[made].producer].unit == unit) updated_.insert({group, old});
  }
  std::set<TensorId> read;
  for (OpId op : graph_.units[unit].ops[static_cast<std::size_t>(Pass::update)]) {
    for (TensorId t : graph_.ops[op].inputs) {
      if (t.valid() && graph_.tensors[t].kind != TensorKind::activation) read.insert(t);
    }
  }
  cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) {
    for (TensorId t : read) cluster_.at(r, group, rank).lasting.erase(t);
  });
}

void Updates::collect() {
  const ReplicatedTensorSharding& rts = plan_.replicated_tensor_sharding;
  for (const auto& [old, made] : graph_.updates) {
    const UnitId unit = graph_.ops[graph_.tensors[made].producer].unit;
    const bool weight = graph_.tensors[old].kind == TensorKind::weight;
    std::set<std::int64_t> holders = {span_of(spans_, unit).ipu};
    for (const Tie& tie : ties(plan_, facts_)) {
      const auto& borrowed = facts_.borrowed[static_cast<std::size_t>(tie.borrower)];
      if (std::find(borrowed.begin(), borrowed.end(), old) != borrowed.end()) holders.insert(tie.borrower_ipu);
    }
    for (std::int64_t group : holders) {  // an IPU that has not got it makes poison of it
      Array value = joined(made, group, weight ? rts.weights : rts.optimizer_state);
      const auto [at, fresh] = executed_.values.try_emplace(made, value);
      if (!fresh && at->second.data != value.data) poison(at->second, 0, value.info.elements());
    }
  }
}

}  // namespace superstep
