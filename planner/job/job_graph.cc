// SPDX-License-Identifier: Apache-2.0
// Building the graph of a job's model.
#include <algorithm>

#include "model/error.h"
#include "model/graph/samples.h"
#include "model/xla/import_file.h"
#include "planner/job/job.h"

namespace superstep {
namespace {

// Throws Unsupported for the first node that the importer does not support. The message counts further such nodes.
[[noreturn]] void refuse(const std::string& file, const std::vector<UnsupportedNode>& nodes) {
  const UnsupportedNode& first = nodes.front();
  const std::string others =
      nodes.size() > 1 ? "; " + std::to_string(nodes.size() - 1) + " more: see superstep import " + file : "";
  throw Unsupported(file, "node \"" + first.name + "\" (" + first.op_type + "): " + first.why + others);
}

ImportResult import_file(const Job& job, const ImportOptions& options) {
  return job.model.file ? job.model.file->import(options) : import_file(job.model.onnx, options);
}

// Imports the job's file. Stored weights are not read if all weights are drawn by the seed.
Graph import_model(const Job& job, std::int64_t micro_batch, WeightValues values) {
  ImportOptions options = import_options(job, micro_batch);
  options.read_weights = values == WeightValues::read && !job.run.random_weights;
  try {
    ImportResult result = import_file(job, options);
    if (!result.unsupported.empty()) refuse(job.model.onnx, result.unsupported);
    return std::move(result.graph);
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.find("external data") == std::string::npos || message.find("not found") == std::string::npos) throw;
    throw Error("", message + "; \"run\": {\"weights\": \"random\"} draws all weights by the seed");
  }
}

// Throws Error if the graph has no op or an empty tensor. The message names no size that depends on the micro-batch,
// because several micro-batches are tried in any order.
void check_work(const Job& job, const Graph& graph) {
  const std::string where = job.source + "#/model", of = " in " + job.model.name();
  if (graph.ops.empty() || graph.units.empty())
    throw Error(where, "found no op to run" + of + ": each of its results is an input or a constant; expected an op");
  for (const Op& op : graph.ops) {
    for (const auto* tensors : {&op.inputs, &op.outputs}) {
      for (const TensorId t : *tensors) {
        if (!t.valid() || graph.info(t).elements() > 0) continue;
        const Shape& shape = graph.info(t).shape;
        const auto dimension = std::ranges::find(shape, 0) - shape.begin();
        throw Error(where, "found size 0 of dimension " + std::to_string(dimension) + " of tensor \"" +
                               graph.tensors[t].name + "\"" + of + "; expected at least 1");
      }
    }
  }
}

// Of the file as it is, without its weights.
ImportOptions as_in_file(const Job& job) {
  ImportOptions options = import_options(job, 0);
  options.statistics_group = 0;
  return options;
}

}  // namespace

ImportOptions import_options(const Job& job, std::int64_t micro_batch) {
  return {.micro_batch = micro_batch,
          .batch_dimension = job.model.batch_dimension,
          .statistics_group = job.model.statistics_group,
          .precision = job.pins.precision.weights,
          .read_weights = false,
          .dimensions = job.model.dimensions,
          .frozen = job.model.frozen,
          .weights = job.model.weights};
}

std::int64_t fixed_batch(const Job& job) {
  if (job.model.zoo) return 0;
  ImportOptions options = as_in_file(job);
  const ImportResult file = import_file(job, options);
  if (file.samples == 0 || !file.unsupported.empty()) return 0;
  options.micro_batch = 2 * file.samples;
  try {
    return import_file(job, options).unsupported.empty() ? 0 : file.samples;
  } catch (const Error&) {
    return file.samples;  // numbers that the exporter wrote down do not go with another batch
  }
}

std::int64_t some_micro_batch(const Job& job) {
  return job.model.fixed_batch > 0 ? job.model.fixed_batch : std::max<std::int64_t>(1, statistics_group(job));
}

std::int64_t statistics_group(const Job& job) {
  if (job.model.zoo) {
    ZooSpec spec = *job.model.zoo;
    const std::int64_t* group = statistics_group_of(spec);
    return group && job.task == Task::training ? *group : 0;
  }
  const ImportResult file = import_file(job, as_in_file(job));
  if (file.graph.statistics_group == 0) return 0;
  return job.model.statistics_group > 0 ? job.model.statistics_group : file.samples;
}

Graph build_graph(const Job& job, std::int64_t micro_batch, WeightValues values) {
  const GraphUse use = job.task == Task::training ? GraphUse::training : GraphUse::inference;
  Graph graph = job.model.zoo ? build(*job.model.zoo, micro_batch, job.pins.precision.weights, use)
                              : import_model(job, micro_batch, values);
  check_work(job, graph);
  if (job.task == Task::training) {
    if (!graph.loss.valid())
      throw Error(job.source, "the model " + job.model.name() +
                                  " has no scalar loss; training needs one (task \"inference\" does not)");
    if (!job.model.zoo && job.model.fixed_batch == 0)
      count_samples_in_factors(graph, [&] { return import_model(job, 2 * micro_batch, WeightValues::left_out); });
    count_samples_in_loss(graph);
    const bool fed = job.run.scales_loss() || job.optimizer.clip_norm > 0;
    const LossScaling scaling = fed ? LossScaling::fed : LossScaling::none;
    add_optimizer(graph, add_gradients(graph, scaling), job.optimizer, scaling);
  }
  return graph;
}

}  // namespace superstep
