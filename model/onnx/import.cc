// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/import.h"

#include <algorithm>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/graph/samples.h"
#include "model/onnx/arrange.h"
#include "model/onnx/conversion.h"
#include "model/onnx/messages.h"

namespace superstep {

namespace {

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

// The file's outputs and loss, before anything is arranged.
void set_outputs(const onnx_import::ModelFile& file, onnx_import::Conversion& converted) {
  std::vector<std::string> names;
  for (const auto& output : file.model.graph().output()) {
    const auto at = converted.names.find(output.name());
    if (at == converted.names.end()) continue;
    names.push_back(output.name());
    converted.graph.outputs.push_back(at->second);
  }
  converted.graph.loss = find_loss(converted.graph, names, converted.graph.outputs);
}

std::int64_t input_extent(const Graph& graph, int dimension) {
  for (TensorId t : graph.inputs) {
    const Shape& shape = graph.info(t).shape;
    if (!shape.empty())
      return static_cast<std::size_t>(dimension) < shape.size() ? shape[static_cast<std::size_t>(dimension)] : 0;
  }
  return 0;
}

// The network does with each sample the same, on its own, if the samples are in this dimension of the inputs.
bool is_batch_dimension(Graph graph, int dimension) {
  graph.sample_dimension = dimension;
  graph.micro_batch = input_extent(graph, dimension);
  if (graph.micro_batch < 1) return false;
  count_samples_in_loss(graph);
  const Samples samples = find_samples(graph);
  if (!samples.faults.empty()) return false;
  if (graph.loss.valid()) return samples.of(graph.loss).role == SampleRole::sum;
  return !graph.outputs.empty() && samples.of(graph.outputs[0]).role == SampleRole::along;
}

int find_batch_dimension(const onnx_import::ModelFile& file, onnx_import::Conversion as_in_file) {
  if (!as_in_file.unsupported.empty()) return 0;
  set_outputs(file, as_in_file);
  std::size_t rank = 0;
  for (TensorId t : as_in_file.graph.inputs) rank = std::max(rank, as_in_file.graph.info(t).shape.size());
  for (int d = 0; d < static_cast<int>(rank); ++d) {
    if (is_batch_dimension(as_in_file.graph, d)) return d;
  }
  return 0;
}

bool takes_statistics(const Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return statistic_of(op).across > 0; });
}

onnx_import::Conversion convert_file(const onnx_import::ModelFile& file, const ImportOptions& options) {
  const onnx_import::NodeOrder order = running_order(file);
  ImportOptions own = options;
  own.batch_dimension = std::max(options.batch_dimension, 0);
  const bool as_it_is = options.micro_batch == 0 && options.statistics_group == 0;
  if (as_it_is && options.batch_dimension >= 0) return convert(file, order, own, nullptr);
  ImportOptions as_file = own;
  as_file.micro_batch = as_file.statistics_group = 0;
  as_file.read_weights = as_it_is && options.read_weights;
  onnx_import::Conversion before = convert(file, order, as_file, nullptr);
  if (options.batch_dimension < 0) own.batch_dimension = find_batch_dimension(file, before);
  if (own.batch_dimension != as_file.batch_dimension) {
    before.file_batch = input_extent(before.graph, own.batch_dimension);
    before.graph.micro_batch = before.file_batch;
    before.graph.sample_dimension = own.batch_dimension;
  }
  if (as_it_is) return before;
  if (options.statistics_group == 0) own.statistics_group = before.file_batch;
  if (own.statistics_group == 0 && takes_statistics(before.graph))
    throw Error(file.path,
                "batch norm in training mode, but the file leaves the number of samples open; expected a statistics "
                "group (\"statistics_group\" beside \"onnx\")");
  const bool same = options.micro_batch == 0 || before.file_batch == 0 || before.file_batch == options.micro_batch;
  return convert(file, order, own, same ? nullptr : &before);
}

ImportResult finish(const onnx_import::ModelFile& file, onnx_import::Conversion converted) {
  ImportResult result;
  result.samples = converted.file_batch;
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
  onnx_import::Arrangement arranged = onnx_import::arrange(converted.graph, roots);
  for (const auto& [name, t] : converted.names) {
    const TensorId moved = arranged.moved[static_cast<std::size_t>(t.index)];
    if (moved.valid()) result.names[name] = moved;
  }
  result.graph = std::move(arranged.graph);
  std::int64_t& group = result.graph.statistics_group;
  group = !takes_statistics(result.graph) ? 0 : group > 0 ? group : result.graph.micro_batch;
  set_outputs(result.graph, result);
  if (result.unsupported.empty()) check(result.graph);
  return result;
}

}  // namespace

OnnxFile::OnnxFile(const std::string& path) {
  auto file = std::make_shared<onnx_import::ModelFile>(onnx_import::read_model(path));
  expand_functions(*file);
  file_ = std::move(file);
}

ImportResult OnnxFile::import(const ImportOptions& options) const {
  return finish(*file_, convert_file(*file_, options));
}

ImportResult onnx_import::import_messages(ModelFile file, const ImportOptions& options) {
  expand_functions(file);
  return finish(file, convert_file(file, options));
}

ImportResult import_onnx(const std::string& path, const ImportOptions& options) {
  return OnnxFile(path).import(options);
}

}  // namespace superstep
