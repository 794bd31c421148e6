// SPDX-License-Identifier: Apache-2.0
// A case of the ONNX backend test suite: inputs, and the outputs that the operators' definitions give.
#include <algorithm>
#include <set>

#include "model/conformance/compare.h"
#include "model/conformance/run_case.h"
#include "model/error.h"
#include "model/execute/evaluate.h"
#include "model/onnx/model_file.h"
#include "model/onnx/tensors.h"

namespace superstep::conformance {

namespace {

using onnx_file::ValueInfoProto;
using onnx_import::our_type;

// Why no tensor of ours can hold the value; empty when one can.
std::string objection(const ValueInfoProto& info) {
  if (!info.has_type()) return "";  // inferred
  if (!info.type().has_tensor_type()) return "not a tensor: a sequence or an optional value";
  const std::int32_t type = info.type().tensor_type().elem_type();
  if (our_type(type)) return "";
  return "another type: " + onnx_import::type_name(type);
}

// Debian's 1.12 and later: the generator computes with an epsilon of 0.01 that the node does not have.
constexpr const char* kAdamWithoutEpsilon = "test_adam_multiple";

// Why the expected values are not those of the file; empty when they are.
std::string contradiction(const ConformanceCase& c, const onnx_file::GraphProto& graph) {
  if (c.model.parent_path().filename() != kAdamWithoutEpsilon || graph.node_size() != 1) return "";
  const auto& attributes = graph.node(0).attribute();
  const bool has =
      std::any_of(attributes.begin(), attributes.end(), [](const auto& a) { return a.name() == "epsilon"; });
  return has ? "" : "contradicts the operator's definition: Adam, expected values of another epsilon than the default";
}

// Why stored values are not those of a declared input or output; empty when they are. The suite of 1.12 has bfloat16
// values in files of another type.
std::string contradiction(const ValueInfoProto& info, const Array& stored) {
  const auto& declared = info.type().tensor_type();
  const bool in_bfloat16 = declared.elem_type() == onnx_import::kBfloat16;
  if (!in_bfloat16 || our_type(declared.elem_type()) == stored.info.type) return "";
  return "contradicts itself: \"" + info.name() + "\" is declared as " + onnx_import::type_name(declared.elem_type()) +
         " and stored as " + std::string(name_of(stored.info.type));
}

std::string objection(const onnx_file::GraphProto& graph) {
  for (const auto* infos : {&graph.input(), &graph.output()}) {
    for (const ValueInfoProto& info : *infos) {
      if (std::string why = objection(info); !why.empty()) return why;
    }
  }
  return "";
}

// Types as in the file; inputs that decide shapes become constants.
ImportResult import_case(const ConformanceCase& c, const std::map<std::string, Array>& inputs) {
  ImportOptions options{.keep_types = true};
  for (const auto& [name, value] : inputs) options.input_shapes[name] = value.info.shape;
  for (;;) {
    ImportResult result = import_onnx(c.model.string(), options);
    const std::size_t known = options.known_inputs.size();
    for (const std::string& name : result.inputs_to_know) options.known_inputs[name] = inputs.at(name);
    if (result.unsupported.empty() || options.known_inputs.size() == known) return result;
  }
}

// Expected results of random operators are one draw of another generator.
std::string random_op(const ImportResult& imported) {
  static const std::set<std::string> all = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                            "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  for (const auto& [op_type, count] : imported.op_counts) {
    if (all.contains(op_type)) return op_type;
  }
  for (const Op& op : imported.graph.ops) {
    if (op.def->random) return "Dropout";
  }
  return "";
}

// The first node that cannot be imported by itself.
std::string objection(const ImportResult& imported) {
  const std::string random = random_op(imported);
  if (!random.empty()) return "random numbers of another generator: " + random;
  if (imported.unsupported.empty()) return "";
  const UnsupportedNode& node = imported.unsupported.front();
  return node.why + ": " + (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
}

}  // namespace

SuiteCase load_suite_case(const ConformanceCase& c) {
  SuiteCase loaded;
  const onnx_import::ModelFile file = onnx_import::read_model(c.model.string());
  const auto& graph = file.model.graph();
  loaded.skip = objection(graph);
  if (loaded.skip.empty()) loaded.skip = contradiction(c, graph);
  if (!loaded.skip.empty()) return loaded;
  for (const auto* infos : {&graph.input(), &graph.output()}) {
    for (const ValueInfoProto& info : *infos)
      loaded.in_bfloat16 |= info.type().tensor_type().elem_type() == onnx_import::kBfloat16;
  }
  std::set<std::string> stored;
  for (const auto& tensor : graph.initializer()) stored.insert(tensor.name());
  for (const ValueInfoProto& input : graph.input()) {
    if (stored.contains(input.name())) continue;
    const std::string name = "input_" + std::to_string(loaded.inputs.size()) + ".pb";
    const Array& array = loaded.inputs[input.name()] = load_tensor(c.data / name);
    if (loaded.skip.empty()) loaded.skip = contradiction(input, array);
  }
  for (int i = 0; i < graph.output_size(); ++i) {
    loaded.outputs.push_back(load_tensor(c.data / ("output_" + std::to_string(i) + ".pb")));
    if (loaded.skip.empty()) loaded.skip = contradiction(graph.output(i), loaded.outputs.back());
  }
  if (!loaded.skip.empty()) return loaded;
  loaded.imported = import_case(c, loaded.inputs);
  loaded.skip = objection(loaded.imported);
  return loaded;
}

CaseResult run_suite_case(const ConformanceCase& c) {
  const SuiteCase loaded = load_suite_case(c);
  if (!loaded.skip.empty()) return {CaseStatus::skipped, loaded.skip};
  const ImportResult& imported = loaded.imported;
  Values feeds;
  for (TensorId t : imported.graph.inputs) feeds[t] = loaded.inputs.at(imported.graph.tensors[t].name);
  const Values values = evaluate(imported.graph, std::move(feeds), {});
  constexpr double kPlaceOfBfloat16 = 0x1p-7;
  const Tolerance tolerance = loaded.in_bfloat16 ? Tolerance{.relative = kPlaceOfBfloat16} : Tolerance{};
  for (std::size_t i = 0; i < imported.outputs.size(); ++i) {
    const TensorId t = imported.names.at(imported.outputs[i]);
    const auto at = values.find(t);
    const Array& found = at == values.end() ? *imported.graph.tensors[t].data : at->second;
    const std::string why = difference(found, loaded.outputs[i], tolerance);
    if (!why.empty()) return {CaseStatus::failed, "output \"" + imported.outputs[i] + "\": " + why};
  }
  return {};
}

}  // namespace superstep::conformance
