// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/suite.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "model/error.h"
#include "model/onnx/model_file.h"
#include "model/onnx/tensors.h"

namespace superstep::testing {

namespace {

namespace fs = std::filesystem;

std::optional<Array> load(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  onnx_file::TensorProto tensor;
  if (!stream || !tensor.ParseFromIstream(&stream)) return std::nullopt;
  if (!onnx_import::our_type(tensor.data_type()) || tensor.data_type() == onnx_import::kBfloat16) return std::nullopt;
  try {
    const onnx_import::StoredTensor stored = onnx_import::read_tensor(tensor, {}, true);
    return stored.data ? std::optional(*stored.data) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // a sequence or an optional value, read as a tensor
  }
}

bool only_tensors(const google::protobuf::RepeatedPtrField<onnx_file::ValueInfoProto>& infos) {
  return std::all_of(infos.begin(), infos.end(), [](const auto& info) { return info.type().has_tensor_type(); });
}

}  // namespace

std::vector<fs::path> suite_cases() {
  std::vector<fs::path> cases;
  const fs::path root = SUPERSTEP_ONNX_TEST_DATA;
  for (const char* part : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    if (root.empty() || !fs::is_directory(root / part)) continue;
    for (const auto& entry : fs::directory_iterator(root / part)) {
      if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::optional<SuiteData> suite_data(const fs::path& folder) {
  const onnx_import::ModelFile file = onnx_import::read_model((folder / "model.onnx").string());
  const auto& graph = file.model.graph();
  if (!only_tensors(graph.input()) || !only_tensors(graph.output())) return std::nullopt;
  std::set<std::string> stored;
  for (const auto& tensor : graph.initializer()) stored.insert(tensor.name());
  SuiteData data;
  for (const auto& input : graph.input()) {
    if (stored.contains(input.name())) continue;
    const std::string name = "input_" + std::to_string(data.inputs.size()) + ".pb";
    const auto value = load(folder / "test_data_set_0" / name);
    if (!value) return std::nullopt;
    data.inputs[input.name()] = *value;
  }
  for (int i = 0; i < graph.output_size(); ++i) {
    const auto value = load(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb"));
    if (!value) return std::nullopt;
    data.outputs.push_back(*value);
  }
  return data;
}

ImportResult import_case(const fs::path& folder, const SuiteData& data) {
  ImportOptions options{.keep_types = true};
  for (;;) {
    ImportResult result = import_onnx((folder / "model.onnx").string(), options);
    const std::size_t known = options.known_inputs.size();
    for (const std::string& name : result.inputs_to_know) options.known_inputs[name] = data.inputs.at(name);
    if (result.unsupported.empty() || options.known_inputs.size() == known) return result;
  }
}

}  // namespace superstep::testing
