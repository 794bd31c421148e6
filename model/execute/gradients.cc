// SPDX-License-Identifier: Apache-2.0
#include "model/execute/gradients.h"

#include <cstring>

#include "model/error.h"

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
  const Range slice = slice_of(from, k, degree);
  const std::int64_t size = size_of(from.values.info.type);
  std::memcpy(to.values.data.data() + slice.begin * size, from.values.data.data() + slice.begin * size,
              static_cast<std::size_t>(slice.extent() * size));
}

std::vector<std::int64_t> replicas_with(const Plan& plan, GroupShape group, std::int64_t r) {
  const std::int64_t stride = group.stride / (plan.tensor_parallel.size() * plan.pipeline_stages);
  const std::int64_t first = r - r / stride % group.size * stride;
  std::vector<std::int64_t> members;
  for (std::int64_t i = 0; i < group.size; ++i) members.push_back(first + i * stride);
  return members;
}

void reduce_accumulator(Cluster& cluster, const Plan& plan, std::int64_t group, GroupShape among, AccumulatorKey key) {
  for (std::int64_t rank = 0; rank < cluster.ranks(); ++rank) {
    std::vector<Local> sums;
    for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
      const std::vector<std::int64_t> members = replicas_with(plan, among, r);
      sums.push_back(cluster.at(members[0], group, rank).accumulators.at(key));
      for (std::size_t i = 1; i < members.size(); ++i) {
        combine_overlap(cluster.at(members[i], group, rank).accumulators.at(key), sums.back(), Reduction::sum);
      }
    }
    for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
      cluster.at(r, group, rank).accumulators.at(key) = std::move(sums[static_cast<std::size_t>(r)]);
    }
  }
}

void scatter_accumulator(Cluster& cluster, const Plan& plan, std::int64_t group, GroupShape among, AccumulatorKey key,
                         Outside outside) {
  reduce_accumulator(cluster, plan, group, among, key);
  for (std::int64_t r = 0; r < cluster.replicas(); ++r) {
    for (std::int64_t rank = 0; rank < cluster.ranks(); ++rank)
      keep_slice(cluster.at(r, group, rank).accumulators.at(key), r % among.size, among.size, outside);
  }
}

Local join_slices(const std::vector<LocalPtr>& holders, std::int64_t degree) {
  Local all = poisoned(holders[0]->values.info.type, holders[0]->region, holders[0]->on);
  for (std::int64_t k = 0; k < degree; ++k) {
    copy_slice(*holders[static_cast<std::size_t>(k) % holders.size()], all, k, degree);
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
