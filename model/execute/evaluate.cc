// SPDX-License-Identifier: Apache-2.0
#include "model/execute/evaluate.h"

#include <algorithm>
#include <set>

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
  std::vector<ConstView> in;
  for (const Array* value : inputs) in.push_back(value ? view_of(*value) : ConstView{});
  return compute_block(call, space, whole_block(space), in, context);
}

namespace {

// The results of one op, whose operands `value_of` finds.
template <class ValueOf>
std::vector<Array> run_op(const Graph& graph, OpId id, const KernelContext& context, ValueOf&& value_of) {
  const Op& op = graph.ops[id];
  const CallOf call(graph, id);
  std::vector<const Array*> inputs;
  for (TensorId t : op.inputs) inputs.push_back(value_of(t));
  std::vector<ResultPlace> places;
  for (TensorId t : op.outputs) places.push_back(place_of(graph, op, t, context));
  KernelContext own = context;
  own.results = places;
  return evaluate_op(*call, inputs, own);
}

const Array* find(const Values& values, TensorId t) {
  const auto at = values.find(t);
  return at == values.end() ? nullptr : &at->second;
}

const Array& data_of(const Graph& graph, TensorId t) {
  const Tensor& tensor = graph.tensors[t];
  if (!tensor.data) throw Error("", "no values for tensor \"" + tensor.name + "\"");
  return *tensor.data;
}

// By tensor: the last op that reads it on the way to something wanted, or makes it; none where it is not on the way.
IdVector<TensorId, OpId> last_uses(const Graph& graph, std::span<const TensorId> wanted) {
  IdVector<TensorId, OpId> last;
  last.resize(graph.tensors.size());
  std::set<TensorId> needed(wanted.begin(), wanted.end());
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(i)];
    if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) { return needed.contains(t); })) continue;
    for (const auto& side : {op.outputs, op.inputs}) {
      for (TensorId t : side) {
        if (!t.valid()) continue;
        if (!last[t].valid()) last[t] = OpId(i);
        needed.insert(t);
      }
    }
  }
  return last;
}

}  // namespace

Values evaluate(const Graph& graph, Values feeds, const KernelContext& context) {
  const auto value_of = [&](TensorId t) -> const Array* {
    if (!t.valid()) return nullptr;
    const Array* fed = find(feeds, t);
    return fed ? fed : &data_of(graph, t);
  };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    std::vector<Array> results = run_op(graph, OpId(i), context, value_of);
    const std::vector<TensorId>& outputs = graph.ops[OpId(i)].outputs;
    for (std::size_t k = 0; k < results.size(); ++k) feeds.insert_or_assign(outputs[k], std::move(results[k]));
  }
  return feeds;
}

Values evaluate(const Graph& graph, const Values& feeds, const KernelContext& context,
                std::span<const TensorId> wanted) {
  Values live;
  const auto value_of = [&](TensorId t) -> const Array* {
    if (!t.valid()) return nullptr;
    const Array* value = find(live, t);
    if (!value) value = find(feeds, t);
    return value ? value : &data_of(graph, t);
  };
  const std::set<TensorId> kept(wanted.begin(), wanted.end());
  const IdVector<TensorId, OpId> last = last_uses(graph, wanted);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) { return last[t].valid(); })) continue;
    std::vector<Array> results = run_op(graph, OpId(i), context, value_of);
    for (std::size_t k = 0; k < results.size(); ++k) live.insert_or_assign(op.outputs[k], std::move(results[k]));
    for (const auto& side : {op.inputs, op.outputs}) {
      for (TensorId t : side) {
        if (t.valid() && last[t] == OpId(i) && !kept.contains(t)) live.erase(t);
      }
    }
  }
  for (TensorId t : wanted) {
    if (!live.contains(t)) live.emplace(t, *value_of(t));
  }
  return live;
}

std::vector<TensorId> outcomes(const Graph& graph) {
  std::vector<TensorId> all = graph.outputs;
  if (graph.loss.valid()) all.push_back(graph.loss);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[TensorId(i)].kind == TensorKind::weight_gradient) all.push_back(TensorId(i));
  }
  for (const auto& [old_value, new_value] : graph.updates) all.push_back(new_value);
  return all;
}

}  // namespace superstep
