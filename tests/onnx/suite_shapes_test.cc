// SPDX-License-Identifier: Apache-2.0
// Our shapes and types against those that libonnx infers, for all tensors of the suite's cases.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <fstream>

#include "model/conformance/run_case.h"
#include "model/onnx/tensors.h"

namespace superstep {
namespace {

// What libonnx says of a tensor; false when it does not know all.
bool known(const onnx::ValueInfoProto& info, TensorInfo& to) {
  const auto& tensor = info.type().tensor_type();
  const auto type = onnx_import::our_type(tensor.elem_type());
  if (!info.type().has_tensor_type() || !tensor.has_shape() || !type) return false;
  to = {*type, {}};
  for (const auto& dim : tensor.shape().dim()) {
    if (!dim.has_dim_value()) return false;
    to.shape.push_back(dim.dim_value());
  }
  return true;
}

bool infer(const std::filesystem::path& path, onnx::ModelProto& model) {
  std::ifstream stream(path, std::ios::binary);
  if (!model.ParseFromIstream(&stream)) return false;
  try {
    onnx::shape_inference::InferShapes(model);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

TEST(OnnxSuite, ShapesAndTypesAreThoseOfLibonnx) {
  const std::string root = SUPERSTEP_ONNX_TEST_DATA;
  if (root.empty()) GTEST_SKIP() << "the ONNX backend test data are not installed (Debian: libonnx-testdata)";
  int compared = 0;
  for (const ConformanceCase& c : find_cases({root})) {
    const conformance::SuiteCase loaded = conformance::load_suite_case(c);
    onnx::ModelProto model;
    if (!loaded.skip.empty() || !infer(c.model, model)) continue;
    const ImportResult& imported = loaded.imported;
    const auto compare = [&](const onnx::ValueInfoProto& info) {
      TensorInfo theirs;
      const auto at = imported.names.find(info.name());
      if (at == imported.names.end() || !known(info, theirs)) return;
      const TensorInfo& ours = imported.graph.info(at->second);
      EXPECT_EQ(to_text(ours.shape), to_text(theirs.shape)) << c.name << " " << info.name();
      EXPECT_EQ(name_of(ours.type), name_of(theirs.type)) << c.name << " " << info.name();
      ++compared;
    };
    for (const auto& info : model.graph().value_info()) compare(info);
    for (const auto& info : model.graph().output()) compare(info);
  }
  EXPECT_GE(compared, 1700);
}

}  // namespace
}  // namespace superstep
