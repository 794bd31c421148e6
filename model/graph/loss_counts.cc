// SPDX-License-Identifier: Apache-2.0
// Means over samples in a loss, as sums divided by a count that belongs to the whole batch.
#include <algorithm>
#include <cmath>

#include "model/graph/op_def.h"
#include "model/graph/samples.h"

namespace superstep {

namespace {

bool has_along(const Op& op, const Samples& samples) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](TensorId t) { return t.valid() && samples.of(t).role == SampleRole::along; });
}

// Ops that the loss comes from without another op on samples in between, in the order of the graph.
template <class Wanted>
std::vector<OpId> ops_in_loss(const Graph& graph, const Samples& samples, Wanted&& wanted) {
  std::vector<OpId> found;
  std::vector<bool> seen(graph.tensors.size());
  std::vector<TensorId> open{graph.loss};
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    if (!t.valid() || seen[static_cast<std::size_t>(t.index)]) continue;
    seen[static_cast<std::size_t>(t.index)] = true;
    const OpId id = graph.tensors[t].producer;
    if (!id.valid()) continue;
    const Op& op = graph.ops[id];
    if (wanted(id, op)) found.push_back(id);
    if (!has_along(op, samples)) open.insert(open.end(), op.inputs.begin(), op.inputs.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<OpId> means_in_loss(const Graph& graph) {
  const Samples samples = find_samples(graph);
  return ops_in_loss(graph, samples, [&](OpId id, const Op& op) {
    const Statistic statistic = statistic_of(op);
    return samples.ops[id].reduces && statistic.mean && statistic.across == 0;
  });
}

// The factor of an op that does nothing but multiply what is no longer samples; 0: another op.
double factor_of(const Op& op) {
  if (op.def->name != "affine" || op.attrs.number("shift") != 0) return 0;
  return op.attrs.number("scale");
}

// Makes room for `ops`, to run right after `at` in its unit.
void insert_after(Graph& graph, OpId at, std::vector<Op> ops) {
  const auto count = static_cast<std::int32_t>(ops.size());
  const auto moved = [&](OpId id) { return id.index > at.index ? OpId(id.index + count) : id; };
  for (Tensor& tensor : graph.tensors) tensor.producer = moved(tensor.producer);
  for (Unit& unit : graph.units) {
    for (auto& pass : unit.ops) {
      for (OpId& id : pass) id = moved(id);
    }
  }
  IdVector<OpId, Op> all;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    all.push_back(std::move(graph.ops[OpId(i)]));
    if (OpId(i) != at) continue;
    for (Op& op : ops) all.push_back(std::move(op));
  }
  graph.ops = std::move(all);
  auto& pass = graph.units[graph.ops[at].unit].ops[static_cast<int>(graph.ops[at].pass)];
  auto place = std::find(pass.begin(), pass.end(), at) + 1;
  for (std::int32_t i = 1; i <= count; ++i) {
    const OpId id(at.index + i);
    place = pass.insert(place, id) + 1;
    for (TensorId t : graph.ops[id].outputs) graph.tensors[t].producer = id;
  }
}

TensorId add_tensor(Graph& graph, std::string name, TensorInfo info) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.info = std::move(info);
  return graph.tensors.push_back(std::move(tensor));
}

TensorId add_count(Graph& graph, const std::string& name, DType type, double count) {
  const TensorId t = add_tensor(graph, name, {type, {}});
  graph.tensors[t].kind = TensorKind::constant;
  graph.tensors[t].data = std::make_shared<const Array>(Array::from(type, {}, {count}));
  graph.tensors[t].counts_samples = true;
  return t;
}

Op add_op(const Graph& graph, OpId like, std::string_view def, TensorId result, std::vector<TensorId> inputs) {
  Op op;
  op.def = find_op(def);
  for (const AttrSpec& spec : op.def->attrs) op.attrs.set(std::string(spec.name), spec.fallback);
  op.inputs = std::move(inputs);
  op.outputs = {result};
  op.name = graph.tensors[result].name;
  op.pass = graph.ops[like].pass;
  op.unit = graph.ops[like].unit;
  return op;
}

// result = mean(x) becomes sum(x) / count, both in fp32 where the result is fp16: sums are larger than means.
void divide_by_count(Graph& graph, OpId id) {
  const TensorId result = graph.ops[id].outputs[0];
  const std::string name = graph.tensors[result].name;
  const TensorInfo info = graph.info(result);
  const TensorInfo wide{info.type == DType::fp16 ? DType::fp32 : info.type, info.shape};
  const TensorId sum = add_tensor(graph, name + "/sum", wide);
  const TensorId count =
      add_count(graph, name + "/count", wide.type, std::round(1 / graph.ops[id].attrs.number("scale")));
  Attributes& attrs = graph.ops[id].attrs;
  attrs.set("scale", 1.0);
  attrs.set("mean", std::int64_t{0});
  if (wide != info) attrs.set("type", std::string(name_of(wide.type)));
  graph.ops[id].outputs = {sum};
  graph.tensors[sum].producer = id;
  const TensorId quotient = wide == info ? result : add_tensor(graph, name + "/mean", wide);
  std::vector<Op> ops{add_op(graph, id, "div", quotient, {sum, count})};
  if (quotient != result) {
    ops.push_back(add_op(graph, id, "cast", result, {quotient}));
    ops.back().attrs.set("type", std::string(name_of(info.type)));
  }
  insert_after(graph, id, std::move(ops));
}

// result = x * factor becomes x / count.
void divide_instead(Graph& graph, OpId id) {
  const TensorId result = graph.ops[id].outputs[0], x = graph.ops[id].inputs[0];
  const double factor = factor_of(graph.ops[id]);
  const TensorId count = add_count(graph, graph.tensors[result].name + "/count", graph.info(x).type, 1 / factor);
  graph.ops[id] = add_op(graph, id, "div", result, {x, count});
}

}  // namespace

void count_samples_in_factors(Graph& graph, const std::function<Graph()>& twice) {
  if (!graph.loss.valid()) return;
  const Samples samples = find_samples(graph);
  const std::vector<OpId> factors = ops_in_loss(graph, samples, [&](OpId, const Op& op) {
    return factor_of(op) != 0 && !has_along(op, samples) && samples.of(op.inputs[0]).role == SampleRole::sum;
  });
  if (factors.empty()) return;
  const Graph larger = twice();
  if (larger.ops.size() != graph.ops.size()) return;
  for (const OpId id : factors) {
    const double here = factor_of(graph.ops[id]), there = factor_of(larger.ops[id]);
    if (std::abs(2 * there - here) <= 1e-9 * std::abs(here)) divide_instead(graph, id);
  }
}

void count_samples_in_loss(Graph& graph) {
  if (!graph.loss.valid()) return;
  const std::vector<OpId> means = means_in_loss(graph);
  for (auto id = means.rbegin(); id != means.rend(); ++id) divide_by_count(graph, *id);
}

}  // namespace superstep
