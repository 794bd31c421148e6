// SPDX-License-Identifier: Apache-2.0
// What an XLA program says of its weights, and of the devices it is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph/tensor.h"

namespace superstep {

// How a program's annotations divide a tensor among devices.
struct TensorSharding {
  std::string name;
  bool weight = false;
  Shape parts;  // of each dimension; none: the whole tensor on each device, or on one
};

// What a program says that an ONNX file does not.
struct ProgramFacts {
  std::vector<std::string> weights;      // inputs that were taken for weights
  std::vector<TensorSharding> sharding;  // of inputs and weights that have an annotation
  // What the annotations mean for a plan; 1: nothing.
  std::int64_t replicas = 1;         // parts of the samples
  std::int64_t tensor_parallel = 1;  // parts of the weights
};

}  // namespace superstep
