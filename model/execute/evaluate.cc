// SPDX-License-Identifier: Apache-2.0
#include "model/execute/evaluate.h"

#include <algorithm>
#include <set>

#include "model/error.h"
#include "model/execute/fusion.h"
#include "model/ops/compute.h"
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

std::vector<ResultPlace> result_places(const Graph& graph, OpId id, const KernelContext& context) {
  std::vector<ResultPlace> places;
  for (TensorId t : graph.ops[id].outputs) places.push_back(place_of(graph, graph.ops[id], t, context));
  return places;
}

namespace {

// The results of one op, whose operands `value_of` finds.
template <class ValueOf>
std::vector<Array> run_op(const Graph& graph, OpId id, const KernelContext& context, ValueOf&& value_of) {
  const Op& op = graph.ops[id];
  const CallOf call(graph, id);
  std::vector<const Array*> inputs;
  for (TensorId t : op.inputs) inputs.push_back(value_of(t));
  const std::vector<ResultPlace> places = result_places(graph, id, context);
  KernelContext own = context;
  own.results = places;
  return evaluate_op(*call, inputs, own);
}

template <class ValueOf, class Kept>
std::vector<std::pair<TensorId, Array>> run_step(const Graph& graph, const Fusion& step, const KernelContext& context,
                                                 ValueOf&& value_of, Kept&& kept) {
  if (step.size() > 1) return run_fused(graph, step, context, value_of, kept);
  const OpId id = step.front().op;
  std::vector<std::pair<TensorId, Array>> named;
  std::vector<Array> results = run_op(graph, id, context, value_of);
  for (std::size_t k = 0; k < results.size(); ++k) named.emplace_back(graph.ops[id].outputs[k], std::move(results[k]));
  return named;
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

// The ops on the way to something wanted.
std::vector<OpId> needed_ops(const Graph& graph, std::span<const TensorId> wanted) {
  std::vector<OpId> ops;
  std::set<TensorId> needed(wanted.begin(), wanted.end());
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(i)];
    if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) { return needed.contains(t); })) continue;
    ops.push_back(OpId(i));
    for (TensorId t : op.inputs)
      if (t.valid()) needed.insert(t);
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

// By tensor: the last step that reads it, or makes it.
std::map<TensorId, std::size_t> last_uses(const Graph& graph, const std::vector<Fusion>& steps) {
  std::map<TensorId, std::size_t> last;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const FusedOp& op : steps[s]) {
      for (TensorId t : graph.ops[op.op].outputs) last[t] = s;
      for (TensorId t : graph.ops[op.op].inputs) last[t] = s;
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
  const std::vector<Fusion> steps = fuse(graph, needed_ops(graph, wanted));
  const std::map<TensorId, std::size_t> last = last_uses(graph, steps);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto read_later = [&](TensorId t) { return kept.contains(t) || last.at(t) > s; };
    for (auto& [t, value] : run_step(graph, steps[s], context, value_of, read_later))
      live.insert_or_assign(t, std::move(value));
    for (const FusedOp& op : steps[s]) {
      for (const auto& side : {graph.ops[op.op].inputs, graph.ops[op.op].outputs})
        for (TensorId t : side)
          if (t.valid() && !read_later(t)) live.erase(t);
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
