// SPDX-License-Identifier: Apache-2.0
#include "model/graph/statistics.h"

#include "model/error.h"

namespace superstep {

namespace {

bool fits(std::int64_t group, std::int64_t micro_batch) {
  return group == 0 || micro_batch % group == 0 || group % micro_batch == 0;
}

std::string why_not(std::int64_t group, std::int64_t micro_batch) {
  return "a statistics group of " + std::to_string(group) + " samples cannot be cut into micro-batches of " +
         std::to_string(micro_batch) + "; expected a multiple or a divisor";
}

}  // namespace

std::int64_t replicas_of_group(std::int64_t group, std::int64_t micro_batch) {
  if (!fits(group, micro_batch)) throw Error("", why_not(group, micro_batch));
  return group > micro_batch ? group / micro_batch : 1;
}

std::int64_t replicas_of_group(const Graph& graph) {
  return replicas_of_group(graph.statistics_group, graph.micro_batch);
}

GroupFault check_group(std::int64_t group, std::int64_t micro_batch, std::int64_t replicas) {
  if (!fits(group, micro_batch)) return {"micro_batch", why_not(group, micro_batch)};
  const std::int64_t across = replicas_of_group(group, micro_batch);
  if (across == 1) return {};
  const std::string part = "a statistics group of " + std::to_string(group) + " samples takes micro-batches of " +
                           std::to_string(micro_batch) + " on " + std::to_string(across) + " replicas at once; found ";
  if (replicas % across != 0)
    return {"replicas",
            part + std::to_string(replicas) + " replicas, expected a multiple of " + std::to_string(across)};
  return {};
}

}  // namespace superstep
