// SPDX-License-Identifier: Apache-2.0
#include "model/execute/evaluate.h"

#include <limits>

#include "model/error.h"

namespace superstep {

namespace {

Block whole(const Shape& shape) {
  Block block;
  block.reserve(shape.size());
  for (std::int64_t extent : shape) block.push_back({0, extent});
  return block;
}

void fill(Array& array, double value) {
  for (std::int64_t i = 0; i < array.info.elements(); ++i) array.set(i, value);
}

}  // namespace

double identity_of(Reduction reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return reduction == Reduction::max ? -kInfinity : reduction == Reduction::min ? kInfinity : 0;
}

std::vector<Array> evaluate_op(const OpCall& call, std::span<const Array* const> inputs, const KernelContext& context) {
  const Space space = call.def.space(call);
  Block block;
  for (const Axis& axis : space.axes) block.push_back({0, axis.extent});

  std::vector<ConstView> in;
  for (const Array* value : inputs) {
    in.push_back(value ? ConstView{value->info.type, whole(value->info.shape), value->data.data()} : ConstView{});
  }
  std::vector<Array> results;
  for (const TensorInfo& info : call.out) {
    results.emplace_back(info);
    const double start = identity_of(space.reduction);
    if (start != 0) fill(results.back(), start);
  }
  std::vector<View> out;
  for (Array& result : results) out.push_back({result.info.type, whole(result.info.shape), result.data.data()});
  call.def.kernel(call, block, in, out, context);
  return results;
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
    std::vector<Array> results = evaluate_op(*call, inputs, context);
    for (std::size_t k = 0; k < results.size(); ++k) feeds.insert_or_assign(op.outputs[k], std::move(results[k]));
  }
  return feeds;
}

}  // namespace superstep
