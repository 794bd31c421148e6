// SPDX-License-Identifier: Apache-2.0
// The safetensors format: the header's length in 8 bytes, little endian; a JSON header with type, shape and place of
// each tensor, and "__metadata__", texts by name; then the bytes of all tensors, one after another.
#pragma once

#include <map>
#include <string>

#include "model/training/named_values.h"

namespace superstep {

struct TensorFile {
  NamedValues tensors;
  std::map<std::string, std::string> metadata;
};

// Written whole under another name, then renamed: a file of that name is complete at any time. Throws Error(path).
void write_safetensors(const std::string& path, const TensorFile& file);

// Throws Error with the path, and the tensor it is about: not there, truncated, of a type we do not have, tensors
// that overlap or leave a gap.
TensorFile read_safetensors(const std::string& path);

}  // namespace superstep
