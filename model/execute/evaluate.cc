// SPDX-License-Identifier: Apache-2.0
#include "model/execute/evaluate.h"

#include "model/error.h"
#include "model/execute/compute.h"
#include "model/ops/kernel.h"

namespace superstep {

namespace {

// Of ops that know their samples those before the micro-batch count.
ResultPlace place_of(const Graph& graph, const Op& op, TensorId result, const KernelContext& context) {
  const TensorInfo& info = graph.info(result);
  const AttrValue* attr = op.attrs.find("samples");
  const std::int64_t samples = attr ? std::get<std::int64_t>(*attr) : 0;
  const std::int64_t before = samples > 0 ? context.first_sample * (info.elements() / samples) : 0;
  return {key_of(graph.tensors[result].name), before, ops::row_major(whole_block(info.shape))};
}

}  // namespace

std::vector<Array> evaluate_op(const OpCall& call, std::span<const Array* const> inputs, const KernelContext& context) {
  const Space space = call.def.space(call);
  Block block;
  for (const Axis& axis : space.axes) block.push_back({0, axis.extent});
  std::vector<ConstView> in;
  for (const Array* value : inputs) in.push_back(value ? view_of(*value) : ConstView{});
  return compute_block(call, space, block, in, context);
}

Values evaluate(const Graph& graph, Values feeds, const KernelContext& context) {
  const auto value_of = [&](TensorId t) -> const Array* {
    if (!t.valid()) return nullptr;
    if (const auto at = feeds.find(t); at != feeds.end()) return &at->second;
    const Tensor& tensor = graph.tensors[t];
    if (!tensor.data) throw Error("", "no values for tensor \"" + tensor.name + "\"");
    return tensor.data.get();
  };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    const CallOf call(graph, OpId(i));
    std::vector<const Array*> inputs;
    for (TensorId t : op.inputs) inputs.push_back(value_of(t));
    std::vector<ResultPlace> places;
    for (TensorId t : op.outputs) places.push_back(place_of(graph, op, t, context));
    KernelContext own = context;
    own.results = places;
    std::vector<Array> results = evaluate_op(*call, inputs, own);
    for (std::size_t k = 0; k < results.size(); ++k) feeds.insert_or_assign(op.outputs[k], std::move(results[k]));
  }
  return feeds;
}

}  // namespace superstep
