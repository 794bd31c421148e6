// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_problem.h"

#include "model/ops/op.h"

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

std::vector<bool> read_in_backward(const Graph& graph) {
  std::vector<bool> out(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::backward) continue;
    for (TensorId t : op.inputs) {
      if (t.valid() && graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].pass == Pass::forward)
        out[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return out;
}

std::map<TensorId, TensorId> replaced_values(const Graph& graph) {
  std::map<TensorId, TensorId> out;
  for (const auto& [old, made] : graph.updates) out[made] = old;
  return out;
}

}  // namespace

ShardProblem::ShardProblem(const Graph& whole, TensorParallel split_over, const CollectiveTime& collective_time,
                           const WorkTime& work_time, const ShardRules& shard_rules)
    : graph(whole),
      mesh(split_over),
      collective(collective_time),
      work(work_time),
      rules(shard_rules),
      training(graph.loss.valid() && !graph.updates.empty()),
      data(data_dimensions(graph)),
      summand_of(gradient_summands(graph)),
      data_dimension(data_dimensions_to_split(graph, data, rules.split_activations ? mesh.t1 : 1)),
      kept(read_in_backward(graph)),
      replaces(replaced_values(graph)) {}

std::vector<TensorId> gradient_summands(const Graph& graph) {
  std::vector<TensorId> weight_of(graph.tensors.size());
  std::vector<int> readers(graph.tensors.size(), 0);  // what others read as well is more than a summand
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (t.valid()) ++readers[static_cast<std::size_t>(t.index)];
    }
  }
  std::vector<TensorId> open;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    if (tensor.kind != TensorKind::weight_gradient) continue;
    weight_of[t] = tensor.weight;
    open.push_back(TensorId(t));
  }
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    const OpId producer = graph.tensors[t].producer;
    if (!producer.valid() || (graph.ops[producer].def->name != "add" && !graph.ops[producer].def->view)) continue;
    for (TensorId in : graph.ops[producer].inputs) {
      if (!in.valid() || !graph.tensors[in].producer.valid()) continue;
      const bool backward = graph.ops[graph.tensors[in].producer].pass == Pass::backward;
      if (!backward || graph.info(in).elements() != graph.info(t).elements() ||
          readers[static_cast<std::size_t>(in.index)] != 1)
        continue;
      weight_of[static_cast<std::size_t>(in.index)] = weight_of[static_cast<std::size_t>(t.index)];
      open.push_back(in);
    }
  }
  return weight_of;
}

std::vector<std::vector<bool>> data_dimensions(const Graph& graph) {
  std::vector<std::vector<bool>> data(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    data[t].assign(tensor.info.shape.size(), tensor.kind == TensorKind::input);
  }
  auto flags = [&](TensorId t) -> std::vector<bool>& { return data[static_cast<std::size_t>(t.index)]; };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.pass == Pass::update) continue;  // weights and their states carry no samples
    const CallOf call(graph, OpId(i));
    const Space space = op.def->space(*call);
    std::vector<bool> axis_is_data(space.axes.size(), false);
    for (std::size_t k = 0; k < op.inputs.size() && k < space.in.size(); ++k) {
      if (!op.inputs[k].valid()) continue;
      for (std::size_t d = 0; d < space.in[k].size(); ++d) {
        if (space.in[k][d].axis >= 0 && flags(op.inputs[k])[d])
          axis_is_data[static_cast<std::size_t>(space.in[k][d].axis)] = true;
      }
    }
    for (std::size_t k = 0; k < op.outputs.size() && k < space.out.size(); ++k) {
      bool previous = false;
      for (std::size_t d = 0; d < space.out[k].size(); ++d) {
        const int a = space.out[k][d].axis;
        if (a >= 0) previous = axis_is_data[static_cast<std::size_t>(a)];
        // A dimension no axis follows (inside a reshape's run) is like the one it was cut from.
        flags(op.outputs[k])[d] = previous && (a >= 0 || op.def->view);
      }
    }
  }
  return data;
}

}  // namespace superstep
