// SPDX-License-Identifier: Apache-2.0
// The larger reference networks, where they lie beside the repository: jobs with their weights and samples, under
// plans.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/json_reader.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/report/evaluated.h"
#include "planner/run/run.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;

// SGD, as the reference's curve. `samples`: of its file.
json reference_job(const std::string& folder, const json& reference, std::int64_t samples, std::int64_t replicas) {
  return {
      {"model", {{"onnx", folder + "/train.onnx"}}},
      {"machine", {{"base", "toy"}, {"partition", replicas}}},
      {"optimizer", {{"kind", "sgd"}, {"learning_rate", reference["curves"]["sgd"]["lr"]}}},
      {"batch", {{"global", samples}}},
      {"plan",
       {{"tensor_parallel", 1},
        {"pipeline_stages", 1},
        {"replicas", replicas},
        {"micro_batch", samples / replicas},
        {"precision", {{"weights", "fp32"}, {"activations", "fp32"}, {"partials", "fp32"}, {"accumulators", "fp32"}}}}},
      {"run", {{"data", folder + "/test_data_set_0"}, {"steps", 3}}}};
}

RunOutcome run(const json& job) {
  World world(job);
  const SearchResult found = search(
      world.tables, {.top = 1, .pareto = false, .find_fix = false, .explain = explain_infeasible, .defaults = true});
  const Plan plan = found.best.empty() ? found.closest.value() : found.best[0].plan;
  return run_job(world.tables, plan, evaluate_in_full(world.tables, plan).program, {});
}

void expect_curve(const std::string& name, std::int64_t samples, std::int64_t replicas, double tolerance) {
  const std::string folder = SUPERSTEP_REFERENCE_NETWORKS "/" + name;
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no folder " << folder;
  const json reference = parse_json_file(folder + "/reference.json");
  const RunOutcome r = run(reference_job(folder, reference, samples, replicas));
  ASSERT_FALSE(r.failure);
  ASSERT_EQ(r.steps.size(), 3U);
  for (std::size_t s = 0; s < 3; ++s) {
    const double expected = reference["curves"]["sgd"]["fp32"][s];
    EXPECT_NEAR(*r.steps[s].loss, expected, tolerance * expected) << name << " step " << s;
    EXPECT_NEAR(*r.steps[s].reference_loss, expected, tolerance * expected) << name << " step " << s;
  }
}

TEST(ReferenceRuns, TransformersFollowPyTorchOnOneIpuAndOnTwo) {
  for (std::int64_t replicas : {1, 2}) {
    expect_curve("bert_l2_h128", 4, replicas, 1e-5);
    expect_curve("gpt2_l2_h128", 4, replicas, 1e-5);
  }
}

TEST(ReferenceRuns, LstmFollowsPyTorch) { expect_curve("lstm_l2_h48", 16, 1, 1e-5); }

// Statistics over the batch: one micro-batch of all samples.
TEST(ReferenceRuns, ConvolutionsFollowPyTorch) { expect_curve("resnet50_w8", 8, 1, 1e-3); }

}  // namespace
}  // namespace superstep::test
