// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_problem.h"

namespace superstep {
namespace {

// The first data dimension that t1 divides: samples, which never meet, before positions, which do in attention.
std::vector<std::int8_t> data_dimensions_to_split(const Graph& graph, const std::vector<std::vector<bool>>& data,
                                                  std::int64_t parts) {
  std::vector<std::int8_t> out(graph.tensors.size(), Sharding::replicated);
  for (std::size_t t = 0; parts > 1 && t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    if (tensor.kind != TensorKind::activation) continue;
    for (std::size_t d = tensor.info.shape.size(); d-- > 0;) {
      const std::int64_t extent = tensor.info.shape[d];
      if (data[t][d] && extent > 1 && extent % parts == 0) out[t] = static_cast<std::int8_t>(d);
    }
  }
  return out;
}

}  // namespace

ShardProblem::ShardProblem(const Graph& whole, const ShardFacts& found, TensorParallel split_over,
                           const CollectiveTime& collective_time, const WorkTime& work_time,
                           const ShardRules& shard_rules)
    : graph(whole),
      facts(found),
      mesh(split_over),
      collective(collective_time),
      work(work_time),
      rules(shard_rules),
      training(graph.loss.valid() && !graph.updates.empty()),
      data_dimension(data_dimensions_to_split(graph, facts.data, rules.split_activations ? mesh.t1 : 1)) {}

}  // namespace superstep
