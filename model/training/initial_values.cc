// SPDX-License-Identifier: Apache-2.0
#include "model/training/initial_values.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/training/draw.h"

namespace superstep {

namespace {

constexpr double kSpread = 0.02;

struct Use {
  bool product = false, convolution = false, factor = false;
};

void note_use(WeightRole role, Use& use) {
  use.convolution = use.convolution || role == WeightRole::window;
  use.product = use.product || role == WeightRole::matrix;
  use.factor = use.factor || role == WeightRole::factor;
}

Use use_of(const Graph& graph, TensorId weight) {
  std::vector<bool> reached(graph.tensors.size());
  reached[static_cast<std::size_t>(weight.index)] = true;
  Use use;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid() || !reached[static_cast<std::size_t>(op.inputs[k].index)]) continue;
      const WeightRole role = weight_role(*op.def, k);
      note_use(role, use);
      if (role != WeightRole::passed_on) continue;
      for (TensorId t : op.outputs) reached[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return use;
}

Array drawn(const Graph& graph, TensorId weight, std::uint64_t seed) {
  const Tensor& tensor = graph.tensors[weight];
  Array array(tensor.info);
  const Shape& shape = tensor.info.shape;
  const Use use = use_of(graph, weight);
  const auto axes = std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 1; });
  double spread = kSpread;
  if (use.convolution) spread = std::sqrt(2.0 * static_cast<double>(shape[0]) / static_cast<double>(volume(shape)));
  const bool spreads = use.convolution || use.product || axes >= 2;
  const Draw draw(seed, tensor.name, DrawFor::weights);
  for (std::int64_t i = 0; i < tensor.info.elements(); ++i)
    array.set(i, spreads ? spread * draw.bell(i) : use.factor ? 1 : 0);
  return array;
}

Array weight_value(const Graph& graph, TensorId t, WeightSource source, std::uint64_t seed) {
  const Tensor& tensor = graph.tensors[t];
  if (tensor.data && source != WeightSource::drawn) return *tensor.data;
  if (source == WeightSource::stored)
    throw Error("", "weight \"" + tensor.name + "\" " + to_text(tensor.info.shape) +
                        " has no values in the file; expected values, or \"run\": {\"weights\": \"random\"}, "
                        "which draws all weights by the seed");
  return drawn(graph, t, seed);
}

Array state_value(const Tensor& state, const Array& weight) {
  if (state.data) return *state.data;
  Array array(state.info);  // zeros
  if (!state.name.ends_with("/master")) return array;
  for (std::int64_t i = 0; i < array.info.elements(); ++i) array.set(i, weight.at(i));
  return array;
}

}  // namespace

NamedValues initial_values(const Graph& graph, WeightSource source, std::uint64_t seed) {
  NamedValues values;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorId t(i);
    if (graph.tensors[t].kind == TensorKind::weight)
      values[graph.tensors[t].name] = weight_value(graph, t, source, seed);
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::optimizer_state)
      values[tensor.name] = state_value(tensor, values.at(graph.tensors[tensor.weight].name));
  }
  return values;
}

}  // namespace superstep
