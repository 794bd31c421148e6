// SPDX-License-Identifier: Apache-2.0
#include "model/execute/gradients.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "model/error.h"
#include "model/execute/unfinished.h"
#include "model/lower/placement.h"
#include "model/ops/compute.h"

namespace superstep {

Range slice_of(const Local& piece, std::int64_t k, std::int64_t degree) {
  const std::int64_t n = piece.values.info.elements();
  if (piece.region.empty()) return {0, n};
  return share_of({0, n}, k, degree);
}

void keep_slice(Local& piece, std::int64_t k, std::int64_t degree, Outside outside) {
  const Range slice = slice_of(piece, k, degree);
  const auto clear = [&](std::int64_t begin, std::int64_t end) {
    if (outside == Outside::poison) return poison(piece.values, begin, end);
    for (std::int64_t i = begin; i < end; ++i) piece.values.set(i, 0);
  };
  clear(0, slice.begin);
  clear(slice.end, piece.values.info.elements());
}

void copy_slice(const Local& from, Local& to, std::int64_t k, std::int64_t degree) {
  SUPERSTEP_CHECK(from.region == to.region, "slices of different pieces");
  SUPERSTEP_CHECK(!from.sums, "a slice of what is summed up");
  const Range slice = slice_of(from, k, degree);
  const std::int64_t size = size_of(from.values.info.type);
  std::memcpy(to.values.data.data() + slice.begin * size, from.values.data.data() + slice.begin * size,
              static_cast<std::size_t>(slice.extent() * size));
}

namespace {
// An update makes one slice on each replica that shares it.
std::int64_t slices_of(const ReplicatedTensorSharding& sharding) {
  return std::max(sharding.weights, sharding.optimizer_state);
}
// The shard, of `degree`, that slice k lies in.
std::int64_t shard_with(const Replicas& replicas, std::int64_t k, std::int64_t slices, std::int64_t degree) {
  return replicas.shard_of(replicas.first_with(k, slices), degree);
}
}  // namespace

void keep_weight_slices(Local& weight, const Plan& plan, std::int64_t replica) {
  const Replicas replicas = replicas_of(plan);
  const std::int64_t slices = slices_of(plan.replicated_tensor_sharding),
                     shards = plan.replicated_tensor_sharding.weights;
  for (std::int64_t k = 0; k < slices; ++k) {
    const Range slice = slice_of(weight, k, slices);
    if (shard_with(replicas, k, slices, shards) != replicas.shard_of(replica, shards) && !weight.region.empty())
      poison(weight.values, slice.begin, slice.end);
  }
}

Local join_weight_slices(const std::vector<LocalPtr>& weights, const Plan& plan,
                         const std::vector<std::int64_t>& members) {
  const Replicas replicas = replicas_of(plan);
  const std::int64_t slices = slices_of(plan.replicated_tensor_sharding),
                     shards = plan.replicated_tensor_sharding.weights;
  Local all = *weights[0];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::int64_t k = 0; k < slices; ++k) {
      if (shard_with(replicas, k, slices, shards) == replicas.shard_of(members[i], shards))
        copy_slice(*weights[i], all, k, slices);
    }
  }
  return all;
}

std::vector<std::int64_t> replicas_with(const Plan& plan, GroupShape group, std::int64_t r) {
  const std::int64_t stride = group.stride / plan.strides().replica;
  const std::int64_t first = r - r / stride % group.size * stride;
  std::vector<std::int64_t> members;
  for (std::int64_t i = 0; i < group.size; ++i) members.push_back(first + i * stride);
  return members;
}

std::int64_t place_among(const Plan& plan, GroupShape group, std::int64_t r) {
  return r / (group.stride / plan.strides().replica) % group.size;
}

namespace {

void reduce_sums(Cluster& cluster, const Plan& plan, std::int64_t group, GroupShape among, AccumulatorKey key) {
  for (std::int64_t rank = 0; rank < cluster.ranks(); ++rank) {
    std::vector<Local> sums;
    for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
      std::vector<const Local*> pieces;
      for (std::int64_t member : replicas_with(plan, among, r))
        pieces.push_back(&cluster.at(member, group, rank).accumulators.at(key).sum);
      sums.push_back(ring_sum(pieces));
    }
    for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
      cluster.at(r, group, rank).accumulators.at(key).sum = std::move(sums[static_cast<std::size_t>(r)]);
    }
  }
}

LocalPtr joined(const std::vector<LocalPtr>& parts) {
  if (parts.size() == 1 || !parts[0]->sums) return parts[0];  // values that do not depend on samples are all equal
  std::vector<UnfinishedPtr> sums;
  for (const LocalPtr& part : parts) sums.push_back(part->sums);
  return std::make_shared<const Local>(Local{parts[0]->on, parts[0]->region, {}, joined(sums)});
}

// What is shared already is the same piece on all who share it, and counts once.
void share_summand(Cluster& cluster, const Plan& plan, std::int64_t group, std::int64_t rank, GroupShape among,
                   AccumulatorKey key, TensorId summand) {
  std::map<std::vector<LocalPtr>, LocalPtr> known;
  std::vector<LocalPtr> shared;
  for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
    std::vector<LocalPtr> sources;
    for (std::int64_t member : replicas_with(plan, among, r)) {
      const Accumulator::Parts& parts = cluster.at(member, group, rank).accumulators.at(key).summands.at(summand);
      for (const LocalPtr& part : {parts.shared, parts.own}) {
        if (part && std::find(sources.begin(), sources.end(), part) == sources.end()) sources.push_back(part);
      }
    }
    LocalPtr& sum = known[sources];
    if (!sum) sum = joined(sources);
    shared.push_back(sum);
  }
  for (std::int64_t r = 0; r < cluster.replicas(); ++r)
    cluster.at(r, group, rank).accumulators.at(key).summands.at(summand) = {nullptr,
                                                                            shared[static_cast<std::size_t>(r)]};
}

}  // namespace

void exchange_accumulator(Cluster& cluster, const Plan& plan, std::int64_t group, GroupShape among, AccumulatorKey key,
                          CollectiveKind kind, bool in_loop) {
  const std::map<TensorId, Accumulator::Parts> summands = cluster.at(0, group, 0).accumulators.at(key).summands;
  const bool exact = !summands.empty(), scatters = kind == CollectiveKind::reduce_scatter;
  // Slices of a running sum are zero elsewhere, so that adding them gathers them.
  if (!exact) reduce_sums(cluster, plan, group, among, key);
  for (std::int64_t rank = 0; rank < cluster.ranks(); ++rank) {
    for (const auto& [summand, parts] : summands) share_summand(cluster, plan, group, rank, among, key, summand);
    for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
      Accumulator& accumulator = cluster.at(r, group, rank).accumulators.at(key);
      if (scatters && !exact)
        keep_slice(accumulator.sum, place_among(plan, among, r), among.size, in_loop ? Outside::zero : Outside::poison);
      if (scatters) accumulator.slice = place_among(plan, among, r), accumulator.slices = among.size;
      if (kind == CollectiveKind::all_gather) accumulator.slice = 0, accumulator.slices = 1;
    }
  }
}

void add_summand(Accumulator& to, TensorId summand, const LocalPtr& value) {
  LocalPtr& own = to.summands[summand].own;
  own = own ? joined({own, value}) : value;
}

void join_accumulator(const Accumulator& from, Accumulator& to) {
  if (from.summands.empty()) return combine_overlap(from.sum, to.sum, Reduction::sum);
  for (const auto& [summand, parts] : from.summands) {
    SUPERSTEP_CHECK(to.summands.count(summand) == 0, "a gradient's summand in two places");
    to.summands[summand] = parts;
  }
}

Local join_slices(const std::vector<LocalPtr>& holders, const Plan& plan) {
  const Replicas replicas = replicas_of(plan);
  const std::int64_t slices = plan.replicated_tensor_sharding.optimizer_state;
  Local all = poisoned(holders[0]->values.info.type, holders[0]->region, holders[0]->on);
  for (std::int64_t k = 0; k < slices; ++k) {
    const std::int64_t shard = shard_with(replicas, k, slices, std::ssize(holders));
    copy_slice(*holders[static_cast<std::size_t>(shard)], all, k, slices);
  }
  return all;
}

Array assemble(const TensorInfo& info, const std::vector<LocalPtr>& ranks) {
  Local all = poisoned(info.type, whole_block(info.shape));
  for (const LocalPtr& piece : ranks) {
    if (piece) copy_overlap(*piece, all);
  }
  return std::move(all.values);
}

}  // namespace superstep
