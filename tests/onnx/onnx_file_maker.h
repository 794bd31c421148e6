// SPDX-License-Identifier: Apache-2.0
// Small ONNX files, made in tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/onnx/import.h"
#include "model/onnx/onnx_subset.pb.h"

namespace superstep::test {

using Extents = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;

// A node to which attributes are added.
class MadeNode {
 public:
  explicit MadeNode(onnx_file::NodeProto& made) : proto(made) {}
  MadeNode& set(const std::string& name, std::int64_t value);
  MadeNode& set(const std::string& name, int value) { return set(name, std::int64_t{value}); }
  MadeNode& set(const std::string& name, float value);
  MadeNode& set(const std::string& name, const char* value);
  MadeNode& set(const std::string& name, const Extents& values);
  MadeNode& set(const std::string& name, const onnx_file::TensorProto& value);
  onnx_file::NodeProto& proto;

 private:
  onnx_file::AttributeProto& attribute(const std::string& name, int type);
};

onnx_file::TensorProto float_tensor(const std::string& name, const Extents& shape, const std::vector<float>& values);
onnx_file::TensorProto integer_tensor(const std::string& name, const Extents& shape,
                                      const std::vector<std::int64_t>& values);

class FileMaker {
 public:
  explicit FileMaker(std::int64_t opset = 17);

  // An extent below 0 is symbolic: -1 "batch", -2 "sequence".
  FileMaker& input(const std::string& name, const Extents& shape, int type = kFloat);
  FileMaker& output(const std::string& name, int type = kFloat);
  FileMaker& floats(const std::string& name, const Extents& shape, const std::vector<float>& values);
  FileMaker& integers(const std::string& name, const Extents& shape, const std::vector<std::int64_t>& values);
  MadeNode node(const std::string& op_type, const Names& inputs, const Names& outputs, const std::string& name = "");

  std::string bytes() const { return model.SerializeAsString(); }
  // Writes the file into a folder of its own below the tests' temporary folder; returns its path.
  std::string write(const std::string& name = "model.onnx") const;
  ImportResult import(const ImportOptions& options = {}) const { return import_onnx(write(), options); }

  onnx_file::ModelProto model;
};

// A new folder, and a file in it.
std::filesystem::path fresh_folder();
std::string write_file(const std::filesystem::path& path, const std::string& bytes);

// Reproducible numbers in (-1, 1).
std::vector<float> numbers(std::int64_t count, unsigned seed);

// The values of the file's output `name` (the first one when empty), given inputs by name.
Array run(const ImportResult& imported, const std::map<std::string, Array>& inputs, const std::string& name = "");
Array floats_of(const Extents& shape, const std::vector<float>& values);
Array integers_of(const Extents& shape, const std::vector<std::int64_t>& values);

// The largest difference between two arrays of one shape.
double difference(const Array& a, const Array& b);

}  // namespace superstep::test
