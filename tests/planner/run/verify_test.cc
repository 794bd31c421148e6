// SPDX-License-Identifier: Apache-2.0
#include "planner/run/verify.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;

std::int64_t units(World& world, const Plan& plan) {
  return static_cast<std::int64_t>(world.tables.facts(plan.micro_batch).graph.units.size());
}

json wide_job() {
  json job = small_job("gpt2-small", {{"layers", 12}, {"hidden", 64}, {"heads", 8}, {"vocabulary", 128}},
                       {{"base", "ipu-pod64"}});
  job["optimizer"] = {{"kind", "lamb"}};
  job["batch"] = {{"global", 96}};
  job["plan"] = {{"tensor_parallel", {4, 2}},
                 {"pipeline_stages", 4},
                 {"replicas", 2},
                 {"micro_batch", 3},
                 {"replicated_tensor_sharding", {{"weights", 2}, {"gradients", 2}, {"optimizer_state", 2}}},
                 {"recompute", "layer"}};
  return job;
}

void expect_alike(std::int64_t from, std::int64_t to) {
  EXPECT_EQ(from > 1, to > 1) << from << " became " << to;
  EXPECT_LE(to, from);
}

// The best plan of a job, run scaled down: the same bits as the plain model. Returns the model that was run.
json verified_model(const json& job) {
  World world(job);
  const Plan best = best_of(world);
  EXPECT_EQ(world.problem(best), "");
  const Verification v = verify(world.job, best, units(world, best), 1);
  EXPECT_TRUE(v.identical()) << v.sentence();
  expect_alike(best.pipeline_stages, v.plan.pipeline_stages);
  expect_alike(best.tensor_parallel.t1, v.plan.tensor_parallel.t1);
  return v.scaled.job["model"];
}

TEST(Verify, RunsTheSameFieldsWithSmallerDegreesAboveOne) {
  World world(wide_job());
  const Plan plan = best_of(world);
  const Verification v = verify(world.job, plan, units(world, plan), 1);
  expect_alike(plan.tensor_parallel.t1, v.plan.tensor_parallel.t1);
  expect_alike(plan.tensor_parallel.t2, v.plan.tensor_parallel.t2);
  expect_alike(plan.pipeline_stages, v.plan.pipeline_stages);
  expect_alike(plan.replicas, v.plan.replicas);
  expect_alike(plan.micro_batch, v.plan.micro_batch);
  expect_alike(plan.gradient_accumulation, v.plan.gradient_accumulation);
  expect_alike(plan.replicated_tensor_sharding.weights, v.plan.replicated_tensor_sharding.weights);
  EXPECT_EQ(plan.schedule, v.plan.schedule);
  EXPECT_EQ(plan.recompute[0], v.plan.recompute[0]);
  EXPECT_FALSE(v.scaled.changes.empty());
  EXPECT_TRUE(v.identical()) << v.sentence();
  EXPECT_NE(v.sentence().find("the same bits"), std::string::npos);
  EXPECT_EQ(to_json(v)["bit_identical"], true);
}

// What it says was run can be run again.
TEST(Verify, GivesTheJobThatWasRun) {
  World world(wide_job());
  const Plan plan = best_of(world);
  const Verification v = verify(world.job, plan, units(world, plan), 1);
  World again(v.scaled.job);
  const Plan same = best_of(again);
  EXPECT_EQ(same, v.plan);
  const RunOutcome run = run_job(again.tables, same, evaluate_in_full(again.tables, same).program, {.threads = 1});
  EXPECT_EQ(run.steps.back().loss, v.run.steps.back().loss);
}

// Image networks: bytes from the host, batch norm over replicas or within a micro-batch, blocks as units.
TEST(Verify, ImageNetworksAreScaledDownToo) {
  const auto verified = [](json plan, std::int64_t group, std::int64_t batch) {
    json job = {{"model", {{"zoo", "resnet50"}, {"pixels", "uint8"}, {"statistics_group", group}}},
                {"machine", "ipu-pod16"},
                {"optimizer", {{"kind", "sgd_momentum"}}},
                {"batch", {{"global", batch}}},
                {"plan", std::move(plan)}};
    return verified_model(job);
  };
  const json replicas =
      verified({{"replicas", 16}, {"micro_batch", 4}, {"gradient_accumulation", 10}, {"pipeline_stages", 1}}, 8, 640);
  EXPECT_EQ(replicas["statistics_group"], 4);  // two micro-batches of two samples
  EXPECT_EQ(replicas["blocks"], (json{1, 1, 1, 1}));
  EXPECT_EQ(replicas["pixels"], "uint8");
  const json pipeline = verified({{"replicas", 4}, {"micro_batch", 4}, {"pipeline_stages", 4}}, 4, 256);
  EXPECT_EQ(pipeline["statistics_group"], 2);
  const json halves = verified({{"tensor_parallel", 2}, {"replicas", 8}, {"micro_batch", 4}}, 4, 64);
  EXPECT_GT(halves["width"], 8);  // smaller weights would not be split
}

// With random factors per sample: stochastic depth.
TEST(Verify, EfficientNetIsScaledDownToo) {
  for (const char* name : {"efficientnet-b0", "efficientnet-b4-g16"}) {
    const json job = {{"model", {{"zoo", name}, {"image_size", 64}}},
                      {"machine", "ipu-pod4"},
                      {"optimizer", {{"kind", "sgd_momentum"}}},
                      {"batch", {{"global", 32}}},
                      {"plan", {{"pipeline_stages", 2}, {"replicas", 2}, {"micro_batch", 2}}}};
    EXPECT_EQ(verified_model(job)["expansion"], 2);
  }
}

// The decoder reads what left the encoder stages before.
TEST(Verify, ConformerIsScaledDownToo) {
  const json job = {{"model", {{"zoo", "conformer-m"}, {"layers", 4}, {"decoder_layers", 4}, {"frames", 127}}},
                    {"machine", "ipu-pod4"},
                    {"optimizer", {{"kind", "adam"}}},
                    {"batch", {{"global", 32}}},
                    {"plan", {{"pipeline_stages", 2}, {"replicas", 2}, {"micro_batch", 2}}}};
  EXPECT_EQ(verified_model(job)["kernel"], 3);
}

}  // namespace
}  // namespace superstep::test
