// SPDX-License-Identifier: Apache-2.0
// Models with the places of their nodes, read back by libonnx: its checker takes them, and a file's own model is
// unchanged but for names and documentation.
#include "model/onnx/annotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <map>
#include <set>

#include "model/zoo/zoo.h"

namespace superstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Units shared out over three stages in order, with two phases.
Annotation annotation(const Graph& graph) {
  Annotation a{"a plan", {{"superstep.label", "t=1 p=3"}}, {}};
  const auto units = static_cast<std::int64_t>(graph.units.size());
  for (std::int64_t u = 0; u < units; ++u) a.units.push_back({u * 3 / units, u * 3 / units + 10, u * 2 / units + 1});
  return a;
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

std::map<std::string, std::vector<std::int64_t>> shapes(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos) {
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const auto& info : infos) {
    auto& shape = out[info.name()];
    for (const auto& dim : info.type().tensor_type().shape().dim()) shape.push_back(dim.dim_value());
  }
  return out;
}

TEST(AnnotatedOnnx, OfTheZooPassesTheCheckerOfLibonnx) {
  for (const char* name : {"bert-base", "gpt2-small", "resnet50", "vit-base", "lstm", "mcmc-hmc"}) {
    for (const GraphUse use : {GraphUse::training, GraphUse::inference}) {
      const Graph graph = build(zoo_spec(name), 2, DType::fp16, use);
      const onnx::ModelProto model = parsed(annotated_onnx(graph, annotation(graph)));
      testing::internal::CaptureStderr();  // it warns of ops that are called as old experiments of ONNX were
      EXPECT_NO_THROW(onnx::checker::check_model(model)) << name;
      testing::internal::GetCapturedStderr();
      EXPECT_EQ(model.graph().node_size(), static_cast<int>(graph.ops.size())) << name;
      EXPECT_EQ(model.metadata_props(0).value(), "t=1 p=3");
    }
  }
}

TEST(AnnotatedOnnx, SaysStageIpuAndPhaseOfEachNode) {
  const Graph graph = build(zoo_spec("bert-base"), 2, DType::fp16, GraphUse::training);
  const Annotation a = annotation(graph);
  const onnx::ModelProto model = parsed(annotated_onnx(graph, a));
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    const UnitPlace& place = a.units[static_cast<std::size_t>(op.unit.index)];
    const onnx::NodeProto& node = model.graph().node(i);
    EXPECT_EQ(node.name(),
              "phase" + std::to_string(place.phase) + "/stage" + std::to_string(place.stage) + "/" + op.name);
    EXPECT_EQ(node.doc_string(), "stage " + std::to_string(place.stage) + ", IPU " + std::to_string(place.ipu) +
                                     ", phase " + std::to_string(place.phase) + ", unit " + graph.units[op.unit].name);
  }
}

// Weights have their shapes and no values.
TEST(AnnotatedOnnx, HasWeightsAsInputs) {
  const Graph graph = build(zoo_spec("gpt2-small"), 1, DType::fp16, GraphUse::training);
  const onnx::ModelProto model = parsed(annotated_onnx(graph, annotation(graph)));
  const auto inputs = shapes(model.graph().input());
  int weights = 0;
  for (const Tensor& t : graph.tensors) {
    if (t.kind != TensorKind::weight) continue;
    ++weights;
    const auto at = inputs.find(t.name);
    ASSERT_NE(at, inputs.end()) << t.name;
    EXPECT_EQ(at->second, t.info.shape) << t.name;
  }
  EXPECT_GT(weights, 100);
  for (const auto& value : model.graph().initializer()) EXPECT_EQ(value.dims_size() == 0 ? 1 : value.dims(0), 1);
}

TEST(AnnotatedOnnx, LeavesAFilesOwnModelAsItWas) {
  const std::string path = SUPERSTEP_SOURCE "/data/models/bert_l2_h128.onnx";
  const ImportResult imported = import_onnx(path, {.micro_batch = 2, .read_weights = false});
  ASSERT_TRUE(imported.unsupported.empty());
  onnx::ModelProto after = parsed(annotated_onnx(path, imported, annotation(imported.graph)));
  EXPECT_NO_THROW(onnx::checker::check_model(after));
  onnx::ModelProto before;
  std::ifstream stream(path, std::ios::binary);
  ASSERT_TRUE(before.ParseFromIstream(&stream));
  ASSERT_EQ(after.graph().node_size(), before.graph().node_size());
  int annotated = 0;
  std::set<std::string> stages;
  for (int i = 0; i < after.graph().node_size(); ++i) {
    onnx::NodeProto& node = *after.mutable_graph()->mutable_node(i);
    const onnx::NodeProto& own = before.graph().node(i);
    if (node.name() != own.name()) {
      ++annotated;
      EXPECT_THAT(node.name(), StartsWith("phase"));
      EXPECT_THAT(node.doc_string(), HasSubstr("unit "));
      stages.insert(node.doc_string().substr(0, 7));
    }
    node.set_name(own.name());
    node.set_doc_string(own.doc_string());
    if (!own.has_name()) node.clear_name();
    if (!own.has_doc_string()) node.clear_doc_string();
    EXPECT_EQ(node.SerializeAsString(), own.SerializeAsString()) << own.name();
  }
  EXPECT_EQ(annotated, before.graph().node_size());
  EXPECT_EQ(stages.size(), 3);
  // Nothing else of the graph changed: weights, shapes, inputs.
  EXPECT_EQ(after.graph().SerializeAsString(), before.graph().SerializeAsString());
}

}  // namespace
}  // namespace superstep
