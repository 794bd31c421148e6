// SPDX-License-Identifier: Apache-2.0
// ONNX files as Graphs: opset 7 to 17, and newer where the op did not change. Shapes are inferred by
// our own rules; subgraphs that compute shapes are evaluated while importing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/onnx/import_options.h"

namespace superstep {

struct ImportResult {
  Graph graph;  // usable only when unsupported is empty
  std::vector<UnsupportedNode> unsupported;
  std::int64_t samples = 0;  // that the file was exported for; 0: it leaves them open
  std::string producer;
  std::map<std::string, std::int64_t> opsets;     // by domain
  std::map<std::string, std::int64_t> op_counts;  // by op type, as in the file
  std::int64_t weights_without_data = 0;          // shape only: usable for planning, not for running
  std::int64_t external_weights = 0;
  // Tensors of the graph by their names in the file: inputs, weights, results that are left.
  std::map<std::string, TensorId> names;
  std::vector<std::string> outputs;  // names of the file's outputs, in its order
  // Inputs whose values decide shapes or which ops there are; some nodes in `unsupported` would not be
  // there if these were in ImportOptions::known_inputs.
  std::vector<std::string> inputs_to_know;
};

namespace onnx_import {
struct ModelFile;
}  // namespace onnx_import

// An ONNX file that is read once and imported several times.
class OnnxFile {
 public:
  explicit OnnxFile(const std::string& path);  // throws Error as import_onnx() does
  ImportResult import(const ImportOptions& options) const;

 private:
  std::shared_ptr<const onnx_import::ModelFile> file_;
};

// Throws Error with the file and, where it applies, the node's name: truncated or foreign file, cyclic
// graph, external data outside of the model's folder, shapes that do not match.
//
// Batch: the samples are in the first dimension of the inputs along which the network treats them each on its own,
// up to the loss (find_samples); in dimension 0 where there is none. Where options.micro_batch differs from what the
// file was exported for, that dimension changes, and reshapes to the old numbers follow. Ops that only make weights or
// masks stand in every unit that reads them, so a stage is sent nothing but the activations of the one before.
//
// Batch norm in training mode takes its statistics over groups of options.statistics_group samples; without it, of
// as many as the file was exported for, so that micro-batches make the same model. Throws Error where the file leaves
// that open and options.micro_batch is given, and where groups and micro-batch do not go together.
ImportResult import_onnx(const std::string& path, const ImportOptions& options);

}  // namespace superstep
