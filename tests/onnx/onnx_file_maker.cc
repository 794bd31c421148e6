// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/onnx_file_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "model/error.h"
#include "model/execute/evaluate.h"

namespace superstep::test {

onnx_file::AttributeProto& MadeNode::attribute(const std::string& name, int type) {
  onnx_file::AttributeProto& a = *proto.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}

MadeNode& MadeNode::set(const std::string& name, float value) {
  attribute(name, 1).set_f(value);
  return *this;
}

MadeNode& MadeNode::set(const std::string& name, std::int64_t value) {
  attribute(name, 2).set_i(value);
  return *this;
}

MadeNode& MadeNode::set(const std::string& name, const char* value) {
  attribute(name, 3).set_s(value);
  return *this;
}

MadeNode& MadeNode::set(const std::string& name, const onnx_file::TensorProto& value) {
  *attribute(name, 4).mutable_t() = value;
  return *this;
}

MadeNode& MadeNode::set(const std::string& name, const Extents& values) {
  auto& a = attribute(name, 7);
  for (std::int64_t value : values) a.add_ints(value);
  return *this;
}

onnx_file::TensorProto float_tensor(const std::string& name, const Extents& shape, const std::vector<float>& values) {
  onnx_file::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(kFloat);
  for (std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return tensor;
}

onnx_file::TensorProto integer_tensor(const std::string& name, const Extents& shape,
                                      const std::vector<std::int64_t>& values) {
  onnx_file::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(kInt64);
  for (std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor;
}

FileMaker::FileMaker(std::int64_t opset) {
  model.set_ir_version(8);
  model.set_producer_name("tests");
  model.mutable_graph()->set_name("made");
  auto& set = *model.add_opset_import();
  set.set_domain("");
  set.set_version(opset);
}

FileMaker& FileMaker::input(const std::string& name, const Extents& shape, int type) {
  auto& info = *model.mutable_graph()->add_input();
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (std::int64_t extent : shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (extent >= 0) dim.set_dim_value(extent);
    if (extent < 0) dim.set_dim_param(extent == -1 ? "batch" : "sequence");
  }
  return *this;
}

FileMaker& FileMaker::output(const std::string& name, int type) {
  auto& info = *model.mutable_graph()->add_output();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return *this;
}

FileMaker& FileMaker::floats(const std::string& name, const Extents& shape, const std::vector<float>& values) {
  *model.mutable_graph()->add_initializer() = float_tensor(name, shape, values);
  return *this;
}

FileMaker& FileMaker::integers(const std::string& name, const Extents& shape, const std::vector<std::int64_t>& values) {
  *model.mutable_graph()->add_initializer() = integer_tensor(name, shape, values);
  return *this;
}

MadeNode FileMaker::node(const std::string& op_type, const Names& inputs, const Names& outputs,
                         const std::string& name) {
  auto& proto = *model.mutable_graph()->add_node();
  proto.set_op_type(op_type);
  proto.set_name(name.empty() ? outputs.front() + "/" + op_type : name);
  for (const std::string& input : inputs) proto.add_input(input);
  for (const std::string& output : outputs) proto.add_output(output);
  return MadeNode(proto);
}

std::string FileMaker::write(const std::string& name) const { return write_file(fresh_folder() / name, bytes()); }

std::filesystem::path fresh_folder() {
  static int next = 0;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(next++);
  std::replace(name.begin(), name.end(), '/', '.');
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "onnx_test" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::vector<float> values;
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1);
  }
  return values;
}

Array floats_of(const Extents& shape, const std::vector<float>& values) {
  return Array::from(DType::fp32, shape, {values.begin(), values.end()});
}

Array integers_of(const Extents& shape, const std::vector<std::int64_t>& values) {
  return Array::from(DType::int64, shape, {values.begin(), values.end()});
}

Array run(const ImportResult& imported, const std::map<std::string, Array>& inputs, const std::string& name) {
  for (const UnsupportedNode& node : imported.unsupported) ADD_FAILURE() << node.name << ": " << node.why;
  Values feeds;
  for (TensorId t : imported.graph.inputs) feeds[t] = inputs.at(imported.graph.tensors[t].name);
  const Values values = evaluate(imported.graph, feeds, {});
  const TensorId t = imported.names.at(name.empty() ? imported.outputs.front() : name);
  const auto at = values.find(t);
  return at == values.end() ? *imported.graph.tensors[t].data : at->second;
}

double difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.info.shape, b.info.shape);
  double largest = 0;
  for (std::int64_t i = 0; i < std::min(a.info.elements(), b.info.elements()); ++i) {
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  }
  return largest;
}

}  // namespace superstep::test
