// SPDX-License-Identifier: Apache-2.0
#include "model/training/initial_values.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "model/ops/op.h"
#include "model/training/draw.h"

namespace superstep {

namespace {

constexpr double kSpread = 0.02;

struct Use {
  bool product = false, convolution = false, factor = false;
};

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The same values in other places, in another type, or a little shifted.
bool passes_on(const OpDef& def) {
  return def.view || one_of(def.name, {"cast", "expand", "transpose", "copy", "concat", "split", "affine"});
}

void note_use(const OpDef& def, std::size_t operand, Use& use) {
  if (def.name == "conv") use.convolution = true;
  if (def.name == "matmul" || (def.name == "gather" && operand == 0)) use.product = true;
  if (def.name == "mul" || (def.name == "div" && operand == 1)) use.factor = true;
  if (one_of(def.name, {"sqrt", "rsqrt", "reciprocal", "log"})) use.factor = true;
}

Use use_of(const Graph& graph, TensorId weight) {
  std::vector<bool> reached(graph.tensors.size());
  reached[static_cast<std::size_t>(weight.index)] = true;
  Use use;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid() || !reached[static_cast<std::size_t>(op.inputs[k].index)]) continue;
      note_use(*op.def, k, use);
      if (!passes_on(*op.def)) continue;
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
