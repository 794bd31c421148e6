// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/import.h"

#include <algorithm>

#include "model/error.h"
#include "model/onnx/arrange.h"
#include "model/onnx/conversion.h"

namespace superstep {

namespace {

using namespace onnx_import;

bool is_scalar_number(const Graph& graph, TensorId t) {
  return graph.info(t).shape.empty() && is_float(graph.info(t).type);
}

// The output that training makes smaller: a number called loss, else the first that is a number.
TensorId find_loss(const Graph& graph, const std::vector<std::string>& names, const std::vector<TensorId>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (names[i] == "loss" && is_float(graph.info(outputs[i]).type) && graph.info(outputs[i]).elements() == 1) {
      return outputs[i];
    }
  }
  const auto first =
      std::find_if(outputs.begin(), outputs.end(), [&](TensorId t) { return is_scalar_number(graph, t); });
  return first == outputs.end() ? TensorId{} : *first;
}

void set_outputs(Graph& graph, const ImportResult& result) {
  std::vector<std::string> names;
  for (const std::string& name : result.outputs) {
    const auto at = result.names.find(name);
    if (at == result.names.end()) continue;
    names.push_back(name);
    graph.outputs.push_back(at->second);
  }
  graph.loss = find_loss(graph, names, graph.outputs);
  const auto at = std::find(graph.outputs.begin(), graph.outputs.end(), graph.loss);
  if (at != graph.outputs.end()) std::rotate(graph.outputs.begin(), at, at + 1);
}

Conversion convert_file(const ModelFile& file, const ImportOptions& options) {
  const NodeOrder order = running_order(file);
  ImportOptions as_file = options;
  as_file.micro_batch = 0;
  as_file.read_weights = false;
  if (options.micro_batch == 0) return convert(file, order, options, nullptr);
  const Conversion before = convert(file, order, as_file, nullptr);
  const bool same = before.file_batch == 0 || before.file_batch == options.micro_batch;
  return convert(file, order, options, same ? nullptr : &before);
}

ImportResult finish(const ModelFile& file, Conversion converted) {
  ImportResult result;
  result.producer = file.model.producer_name();
  if (!file.model.producer_version().empty()) result.producer += " " + file.model.producer_version();
  result.opsets = file.opsets;
  for (const auto& node : file.model.graph().node()) ++result.op_counts[node.op_type()];
  for (const auto& output : file.model.graph().output()) result.outputs.push_back(output.name());
  result.unsupported = std::move(converted.unsupported);
  result.inputs_to_know.assign(converted.inputs_to_know.begin(), converted.inputs_to_know.end());
  result.weights_without_data = converted.weights_without_data;
  result.external_weights = converted.external_weights;
  std::vector<TensorId> roots;
  for (const std::string& name : result.outputs) {
    if (converted.names.contains(name)) roots.push_back(converted.names.at(name));
  }
  Arrangement arranged = arrange(converted.graph, roots);
  for (const auto& [name, t] : converted.names) {
    const TensorId moved = arranged.moved[static_cast<std::size_t>(t.index)];
    if (moved.valid()) result.names[name] = moved;
  }
  result.graph = std::move(arranged.graph);
  set_outputs(result.graph, result);
  if (result.unsupported.empty()) check(result.graph);
  return result;
}

}  // namespace

ImportResult import_onnx(const std::string& path, const ImportOptions& options) {
  ModelFile file = read_model(path);
  expand_functions(file);
  return finish(file, convert_file(file, options));
}

}  // namespace superstep
