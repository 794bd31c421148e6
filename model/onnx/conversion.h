// SPDX-License-Identifier: Apache-2.0
// The nodes of a file as ops, one after the other, not yet cut into units.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/onnx/model_file.h"
#include "model/onnx/node.h"

namespace superstep::onnx_import {

struct Conversion {
  Graph graph;
  std::map<std::string, TensorId> names;  // by the names of the file
  std::vector<UnsupportedNode> unsupported;
  std::set<std::string> inputs_to_know, weights_to_know;  // nodes that are not supported need their values
  std::int64_t weights_without_data = 0, external_weights = 0;
  std::int64_t file_batch = 0;  // what the batch dimension of the inputs says; 0: nothing

  // What a second conversion, with another batch, compares with.
  std::map<std::string, TensorInfo> infos;
  std::map<std::string, std::vector<std::int64_t>> integers;  // short lists that are known
};

using NodeOrder = std::vector<const onnx_file::NodeProto*>;

// options.batch_dimension is told. `as_in_file`: the conversion with the batch that the file says, or null when this is
// it.
Conversion convert(const ModelFile& file, const NodeOrder& order, const ImportOptions& options,
                   const Conversion* as_in_file);

// What the nodes do with the file's inputs and initializers.
struct Readers {
  std::set<std::string> read;       // by a node or as an output of the graph
  std::set<std::string> shared;     // by several nodes, or several times
  std::set<std::string> trained;    // operands that are parameters even with a single element
  std::set<std::string> constants;  // operands whose values must be known, or that are not trained
  std::set<std::string> quantised;  // operands that are quantised weights
};
Readers find_readers(const ModelFile& file);

// Adds the inputs and initializers of the file that somebody reads, with their names.
void add_sources(const ModelFile& file, const ImportOptions& options, const Readers& readers, GraphBuilder& b,
                 Conversion& to);

}  // namespace superstep::onnx_import
