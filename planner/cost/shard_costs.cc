// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/shard_costs.h"

#include <algorithm>
#include <utility>

#include "model/error.h"

namespace superstep {

LinearCycles linear_collective(const CostModel& model, CollectiveKind kind, GroupShape group) {
  if (group.size <= 1) return {};
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const double one = static_cast<double>(model.collective(kind, group, Bytes(kLarge)).value);
  const double two = static_cast<double>(model.collective(kind, group, Bytes(2 * kLarge)).value);
  const double per_byte = (two - one) / static_cast<double>(kLarge);
  return {one - per_byte * static_cast<double>(kLarge), per_byte};
}

ShardCosts::ShardCosts(const CostModel& model, const Replicas& replicas, std::vector<std::int64_t> degrees)
    : degrees_(std::move(degrees)) {
  std::vector<LinearCycles> over_shards;  // all-reduce of each shard across the groups
  for (const std::int64_t degree : degrees_) {
    const GroupShape group = replicas.group(degree), across = replicas.group(replicas.count, degree);
    gather_.push_back(linear_collective(model, CollectiveKind::all_gather, group));
    scatter_.push_back(linear_collective(model, CollectiveKind::reduce_scatter, group));
    over_shards.push_back(linear_collective(model, CollectiveKind::all_reduce, across));
    over_shards.back().per_byte /= static_cast<double>(degree);
  }
  const auto sum = [](const LinearCycles& a, const LinearCycles& b) {
    return LinearCycles{a.fixed + b.fixed, a.per_byte + b.per_byte};
  };
  for (std::size_t s = 0; s < degrees_.size(); ++s) {
    for (std::size_t other = 0; other < degrees_.size(); ++other) {
      const LinearCycles alone = over_shards[s > 0 ? s : other];
      reduce_.push_back(s > 0 ? (other == 0 ? sum(scatter_[s], alone) : alone)
                              : (other > 0 ? sum(alone, gather_[other]) : alone));
      join_.emplace_back();
      if (s <= other || degrees_[s] % degrees_[other] != 0) continue;
      const std::int64_t shards = degrees_[other];
      join_.back() = linear_collective(model, CollectiveKind::all_gather, replicas.group(degrees_[s], shards));
      join_.back().per_byte /= static_cast<double>(shards);
    }
  }
}

std::size_t ShardCosts::of(std::int64_t degree) const {
  const auto at = std::lower_bound(degrees_.begin(), degrees_.end(), degree);
  SUPERSTEP_CHECK(at != degrees_.end() && *at == degree, "a degree that collectives were costed for");
  return static_cast<std::size_t>(at - degrees_.begin());
}

}  // namespace superstep
