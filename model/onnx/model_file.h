// SPDX-License-Identifier: Apache-2.0
// An ONNX file as messages, checked as far as possible before anything is made of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/onnx/onnx_subset.pb.h"

namespace superstep::onnx_import {

struct ModelFile {
  std::string path;
  onnx_file::ModelProto model;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" for ONNX's own
};

// Throws Error with the path: not found, truncated, not an ONNX model, no operator set.
ModelFile read_model(const std::string& path);

// "ai.onnx" is another name of "".
std::string domain_of(const std::string& domain);

// The node's name, or, where it has none, "<op type> of <first result>".
std::string label(const onnx_file::NodeProto& node);

// Nodes that call functions of the file, replaced by the functions' nodes. Throws Error on functions
// that call themselves.
void expand_functions(ModelFile& file);

// The nodes in an order in which they can run: the file's own order where that is one. Throws Error
// naming the node on results of one name, operands that nobody produces, and cycles.
std::vector<const onnx_file::NodeProto*> running_order(const ModelFile& file);

}  // namespace superstep::onnx_import
