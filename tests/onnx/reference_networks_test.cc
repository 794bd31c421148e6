// SPDX-License-Identifier: Apache-2.0
// The larger reference networks, where they lie beside the repository.
#include <gtest/gtest.h>

#include <filesystem>

#include "model/conformance/conformance.h"
#include "model/graph/autodiff.h"
#include "model/graph/op_def.h"
#include "model/graph/samples.h"
#include "model/onnx/import.h"

namespace superstep {
namespace {

TEST(ReferenceNetworks, LossGradientsAndCurvesAreThoseOfPyTorch) {
  const std::string root = SUPERSTEP_REFERENCE_NETWORKS;
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "there is no folder " << root;
  int trained = 0;
  for (const ConformanceCase& c : find_cases({root})) {
    const CaseResult result = run_case(c);
    EXPECT_EQ(result.status, CaseStatus::passed) << c.name << ": " << result.why;
    trained += c.model.filename() == "train.onnx" ? 1 : 0;
  }
  EXPECT_GE(trained, 4);
}

TEST(ReferenceNetworks, BatchesCanBeCutIntoMicroBatches) {
  const std::filesystem::path root = SUPERSTEP_REFERENCE_NETWORKS;
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "there is no folder " << root;
  for (const auto& [name, dimension] :
       {std::pair("bert_l2_h128", 0), {"gpt2_l2_h128", 0}, {"resnet50_w8", 0}, {"lstm_l2_h48", 1}}) {
    for (std::int64_t n : {1, 2}) {
      Graph graph = import_onnx((root / name / "train.onnx").string(), {.micro_batch = n}).graph;
      EXPECT_EQ(graph.sample_dimension, dimension) << name;
      count_samples_in_loss(graph);
      add_optimizer(graph, add_gradients(graph), {.kind = "lamb"});
      const Samples samples = find_samples(graph);
      EXPECT_TRUE(samples.faults.empty()) << samples.faults[0].why;
      for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
        const TensorId t(i);
        const SampleRole role = samples.of(t).role;
        EXPECT_NE(role, SampleRole::unknown) << graph.tensors[t].name;
        EXPECT_TRUE(graph.tensors[t].kind != TensorKind::weight_gradient || role == SampleRole::sum);
      }
      for (std::size_t i = 0; i < graph.ops.size(); ++i) {
        const OpSamples& op = samples.ops[OpId(i)];
        const bool product = op.reduces && graph.ops[OpId(i)].def->product;
        EXPECT_TRUE(!product || op.contiguous) << graph.ops[OpId(i)].name;
      }
    }
  }
}

}  // namespace
}  // namespace superstep
