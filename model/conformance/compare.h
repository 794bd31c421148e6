// SPDX-License-Identifier: Apache-2.0
// Stored tensors, and how near a result must come to them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "model/graph/tensor.h"

namespace superstep::conformance {

// A TensorProto file. Throws Error with the path: not there, damaged, or of a type that we do not have.
Array load_tensor(const std::filesystem::path& path);

struct Tolerance {
  double relative = 1e-3, absolute = 1e-5;
};

// Where the two differ; empty when they do not. Types and shapes must be equal, integers too.
std::string difference(const Array& found, const Array& expected, Tolerance tolerance = {});

}  // namespace superstep::conformance
