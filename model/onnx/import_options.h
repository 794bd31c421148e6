// SPDX-License-Identifier: Apache-2.0
// What an import of an ONNX file is told, and what it says of a node that it does not support.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/graph/tensor.h"

namespace superstep {

struct ImportOptions {
  std::int64_t micro_batch = 0;       // samples per run; 0: as the file says (1 where it says nothing)
  int batch_dimension = -1;           // of the inputs: holds the samples; -1: found, as told below
  std::int64_t statistics_group = 0;  // of batch norm in training mode; 0: as told below
  DType precision = DType::fp32;      // floating weights and activations become this type
  bool keep_types = false;            // true: types stay as in the file (conformance, import listing)
  bool read_weights = true;           // false: weights get a shape only, and external data is not opened
  // Values of symbolic dimensions, by their names; of one without a name by INPUT[DIMENSION].
  std::map<std::string, std::int64_t> dimensions;
  std::vector<std::string> frozen;   // weights that are not trained: names, or patterns as those of a shell
  std::vector<std::string> weights;  // of XLA programs: inputs that are weights, as model/xla/import_file.h tells
  std::map<std::string, Shape> input_shapes;  // of inputs; must agree with what the file says of them
  std::map<std::string, Array> known_inputs;  // graph inputs that become constants
};

struct UnsupportedNode {
  std::string name, op_type, domain, why;
};

}  // namespace superstep
