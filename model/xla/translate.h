// SPDX-License-Identifier: Apache-2.0
// An XLA program as an ONNX model, so that all that follows is the import of ONNX files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/onnx/model_file.h"
#include "model/xla/hlo_file.h"

namespace superstep::xla_import {

struct Translation {
  onnx_import::ModelFile file;
  std::map<std::string, std::string> refusals;  // why, by the label of a node of the domain "xla"
  std::map<std::string, Extents> shapes;        // of results, as the program says
};

// The entry computation's inputs: a parameter, or a leaf of one that is a tuple.
struct Parameter {
  std::string name;  // "params['dense']['kernel']" as "params.dense.kernel"; else the instruction's name
  const hlo_file::ShapeProto* shape = nullptr;
  const hlo_file::OpSharding* sharding = nullptr;  // null: none
  bool weight = false;
};

// Weights are those whose name or instruction matches one of `patterns`. Without patterns: those that JAX calls
// "params", or where it calls none so, those that the program gives back changed (input_output_alias). Only floating
// tensors are. Throws Error where a pattern matches no parameter and no constant.
std::vector<Parameter> find_parameters(const Program& program, const std::vector<std::string>& patterns);

// Calls, fusions and loops of known length are written out. Throws Error naming the instruction where the program is
// not sound.
Translation translate(const std::string& path, const Program& program, const std::vector<std::string>& patterns);

}  // namespace superstep::xla_import
