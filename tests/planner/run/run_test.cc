// SPDX-License-Identifier: Apache-2.0
// Jobs on numbers: what a run reads, writes, compares and reports.
#include "planner/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json gpt_job(std::int64_t ipus, const json& plan, const json& run) {
  json job = small_job("gpt2-small",
                       {{"layers", 1},
                        {"hidden", 16},
                        {"heads", 2},
                        {"ffn", 32},
                        {"vocabulary", 32},
                        {"sequence_length", 4},
                        {"positions", 4}},
                       {{"base", "toy"}, {"partition", ipus}});
  job["optimizer"] = {{"kind", "adam"}, {"learning_rate", 0.01}, {"epsilon", 1e-3}};
  job["batch"] = {{"global", 8}};
  job["plan"] = plan;
  job["plan"]["precision"] = {
      {"weights", "fp32"}, {"activations", "fp32"}, {"partials", "fp32"}, {"accumulators", "fp32"}};
  job["run"] = run;
  return job;
}

RunOutcome run(const json& job, bool reference = true) {
  World world(job);
  const SearchResult found = search(world.tables, {.top = 1, .pareto = false, .find_fix = false, .defaults = true});
  if (found.best.empty() && !found.closest) throw Error("", "no plan");
  const Plan plan = found.best.empty() ? *found.closest : found.best[0].plan;
  return run_job(world.tables, plan, evaluate_in_full(world.tables, plan).program,
                 {.reference = reference, .threads = 1, .progress = {}});
}

std::string run_error(const json& job) {
  try {
    run(job);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::vector<double> losses(const RunOutcome& r) {
  std::vector<double> all;
  for (const RunStep& s : r.steps) all.push_back(s.loss.value());
  return all;
}

std::string file(const std::string& name) {
  const std::string path = testing::TempDir() + "run_test_" + name;
  std::filesystem::remove(path);
  return path;
}

const json kPlain = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 8}};
const json kSplit = {{"tensor_parallel", 2}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 4}};
const json kReplicas = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 4}, {"micro_batch", 1}};
const json kPipeline = {
    {"tensor_parallel", 1}, {"pipeline_stages", 2}, {"replicas", 1}, {"micro_batch", 2}, {"stages", {0, 2}}};

TEST(RunJob, HasTheBitsOfThePlainModelUnderEveryPlan) {
  const json steps = {{"steps", 3}, {"seed", 4}, {"chunk", 4}};
  std::vector<std::vector<double>> curves;
  for (const auto& [ipus, plan] :
       std::vector<std::pair<int, json>>{{1, kPlain}, {2, kSplit}, {4, kReplicas}, {2, kPipeline}}) {
    const RunOutcome r = run(gpt_job(ipus, plan, steps));
    ASSERT_EQ(r.steps.size(), 3U);
    EXPECT_TRUE(r.compared);
    EXPECT_TRUE(r.difference.identical) << plan << r.difference.worst;
    EXPECT_FALSE(r.failure);
    curves.push_back(losses(r));
    EXPECT_EQ(curves.back(), curves.front()) << "the same samples under every plan";
  }
  EXPECT_NE(curves[0][0], curves[0][1]);
}

// The words of T5 are read by encoder, decoder and head, here in three phases: two of them send their gradients to the
// first one's.
TEST(RunJob, HasTheBitsOfThePlainModelWithWeightsBorrowedByTwoPhases) {
  for (const char* order : {"phase_outer", "micro_batch_outer"}) {
    json job =
        small_job("t5-small", {{"layers", 2}, {"hidden", 16}, {"heads", 2}, {"vocabulary", 32}, {"sequence_length", 8}},
                  "ipu-pod4");
    job["optimizer"] = {{"kind", "sgd"}};
    job["batch"] = {{"global", 2}};
    job["plan"] = {{"replicas", 1},        {"tensor_parallel", 4},
                   {"micro_batch", 1},     {"pipeline_stages", 1},
                   {"stages", {0, 3, 8}},  {"phases", {0, 1, 2}},
                   {"phase_order", order}, {"location", {{"weights", "streaming"}, {"activations", "streaming"}}}};
    const RunOutcome r = run(job);
    EXPECT_FALSE(r.failure) << order;
    EXPECT_TRUE(r.difference.identical) << order << r.difference.worst;
  }
}

// 1472 tiles, each with what its exchange brought and poison elsewhere; rings of IPUs; partial sums added by tile.
TEST(RunJob, RunsOnEveryTileOfAChipInDeviceMode) {
  json job = gpt_job(1, kReplicas, {{"steps", 2}, {"mode", "device"}});
  job["machine"] = "ipu-pod4";
  const RunOutcome r = run(job);
  EXPECT_FALSE(r.failure);
  EXPECT_FALSE(r.difference.identical);
  EXPECT_LT(r.difference.max_relative, 1e-4) << r.difference.worst;
  EXPECT_FALSE(r.collectives.empty());
  ASSERT_TRUE(r.live);
  EXPECT_GT(r.live->held.value, 0);
  EXPECT_EQ(r.live->held.value, r.live->costed.value);
}

TEST(RunJob, MultipliesWithOpenBlasInDeviceMode) {
  const auto run_with = [](const char* engine) {
    return run(gpt_job(2, kSplit, {{"steps", 2}, {"mode", "device"}, {"engine", engine}}));
  };
  const RunOutcome own = run_with("own"), blas = run_with("openblas");
  EXPECT_FALSE(blas.failure);
  EXPECT_LT(blas.difference.max_relative, 1e-4) << blas.difference.worst;
  EXPECT_NEAR(losses(blas).back(), losses(own).back(), 1e-5);
  EXPECT_EQ(blas.live->held.value, own.live->held.value);
}

TEST(RunJob, InstancesReadTheSameBatch) {
  const auto curve = [](int instances) {
    return losses(run(gpt_job(4, kReplicas, {{"steps", 2}, {"instances", instances}}), false));
  };
  EXPECT_EQ(curve(4), curve(1));
  EXPECT_THAT(run_error(gpt_job(4, kReplicas, {{"instances", 3}})),
              HasSubstr("test job#/run/instances: found 3, expected a divisor of the plan's 4 replicas"));
}

TEST(RunJob, WithoutAReferenceComparesNothing) {
  const RunOutcome r = run(gpt_job(1, kPlain, {{"steps", 1}}), false);
  EXPECT_FALSE(r.compared);
  EXPECT_FALSE(r.steps.at(0).reference_loss);
  EXPECT_EQ(r.reference_seconds, 0);
}

TEST(RunJob, GoesOnFromACheckpointAsIfItHadNotStopped) {
  const std::string path = file("state.safetensors");
  json run_of = {{"steps", 4}, {"seed", 2}, {"samples", 20}};
  const std::vector<double> whole = losses(run(gpt_job(2, kPipeline, run_of)));
  run_of["steps"] = 2;
  run_of["checkpoint"] = path;
  const std::vector<double> first = losses(run(gpt_job(2, kPipeline, run_of)));
  run_of.erase("checkpoint");
  run_of["resume"] = path;
  const RunOutcome rest = run(gpt_job(2, kPipeline, run_of));
  EXPECT_EQ(first, std::vector<double>(whole.begin(), whole.begin() + 2));
  EXPECT_EQ(losses(rest), std::vector<double>(whole.begin() + 2, whole.end()));
  EXPECT_EQ(rest.steps[0].step, 2);

  const std::vector<double> elsewhere = losses(run(gpt_job(2, kSplit, run_of)));
  for (std::size_t s = 0; s < 2; ++s) EXPECT_NEAR(elsewhere[s], whole[s + 2], 1e-5);

  json other = gpt_job(2, kSplit, run_of);
  other["optimizer"]["kind"] = "lamb";
  EXPECT_THAT(run_error(other), AllOf(HasSubstr(path), HasSubstr("checkpoint of another optimizer")));
  other = gpt_job(2, kSplit, run_of);
  other["model"]["ffn"] = 64;
  EXPECT_THAT(run_error(other), HasSubstr("checkpoint of another model"));
  run_of["resume"] = file("none");
  EXPECT_THAT(run_error(gpt_job(2, kSplit, run_of)), HasSubstr("cannot be read"));
}

// Steps so long that weights leave fp16.
json overflowing_job(std::int64_t ipus, const json& plan, const json& run_of) {
  json job = gpt_job(ipus, plan, run_of);
  job["plan"]["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}};
  job["optimizer"] = {{"kind", "sgd"}, {"learning_rate", 1e6}};
  return job;
}

TEST(RunJob, WritesACheckpointEverySoManySteps) {
  const std::string path = file("every.safetensors");
  json run_of = {{"steps", 3}, {"checkpoint", path}, {"checkpoint_every", 2}};
  run(gpt_job(1, kPlain, run_of));
  run_of = {{"steps", 1}, {"resume", path}};
  EXPECT_EQ(run(gpt_job(1, kPlain, run_of)).steps.at(0).step, 3);
  std::filesystem::remove(path);
  run_of = {{"steps", 3}, {"checkpoint", path}, {"checkpoint_every", 1}};
  ASSERT_TRUE(run(overflowing_job(1, kPlain, run_of)).failure);
  EXPECT_FALSE(std::filesystem::exists(path)) << "no state that is not finite is kept";
}

TEST(RunJob, SaysWhereItCeasedToBeFinite) {
  const RunOutcome r = run(overflowing_job(4, kReplicas, {{"steps", 5}}));
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->step, r.steps.back().step);
  EXPECT_LT(r.steps.size(), 5U);
  EXPECT_FALSE(std::isfinite(r.failure->value));
  EXPECT_EQ(r.failure->kind, "cast");  // of a new weight to fp16
  EXPECT_THAT(r.failure->made, HasSubstr(r.failure->tensor));
  EXPECT_EQ(r.failure->where, "plan");
}

TEST(RunJob, WithALossScaleTrainsAsWithout) {
  const RunOutcome scaled = run(gpt_job(2, kSplit, {{"steps", 3}, {"loss_scale", 64}}));
  const RunOutcome automatic = run(gpt_job(2, kSplit, {{"steps", 3}, {"loss_scale", "auto"}}));
  EXPECT_EQ(losses(scaled), losses(run(gpt_job(2, kSplit, {{"steps", 3}}))));
  EXPECT_EQ(losses(automatic), losses(scaled));
  EXPECT_EQ(scaled.steps[2].loss_scale, 64);
  EXPECT_EQ(automatic.steps[2].loss_scale, 0x1p15);
}

// A file with weights and eight samples, trained under a plan.
json encoder_job(const json& run_of) {
  const std::string folder = std::string(SUPERSTEP_REFERENCES) + "/encoder_h16";
  json job = gpt_job(2, {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 2}, {"micro_batch", 1}}, run_of);
  job["model"] = {{"onnx", folder + "/train.onnx"}};
  job["optimizer"] = {{"kind", "sgd"}, {"learning_rate", 0.1}};
  job["batch"]["global"] = 2;
  job["run"]["data"] = folder + "/test_data_set_0";
  return job;
}

TEST(RunJob, TrainsAFileWithItsOwnWeightsAndSamples) {
  const RunOutcome r = run(encoder_job({{"steps", 3}}));
  EXPECT_LT(r.difference.max_abs, 1e-6);  // biases ahead of a softmax have a gradient of nothing but rounding
  EXPECT_FALSE(r.failure);
  const std::vector<double> drawn = losses(run(encoder_job({{"steps", 3}, {"weights", "random"}})));
  EXPECT_NE(drawn, losses(r));
}

TEST(RunJob, RefusesSamplesOfAnotherModel) {
  json job = encoder_job({{"steps", 1}});
  job["run"]["data"] = std::string(SUPERSTEP_REFERENCES) + "/images_w8/test_data_set_0";
  EXPECT_THAT(run_error(job), AllOf(HasSubstr("input_0.pb: input \""), HasSubstr("expected")));
}

TEST(RunJob, ComparesAllSamplesInInference) {
  json job = encoder_job({{"steps", 2}});
  job["task"] = "inference";
  job.erase("optimizer");
  const RunOutcome r = run(job);
  EXPECT_EQ(r.steps.size(), 2U);
  EXPECT_TRUE(r.difference.identical);
}

TEST(RunJob, RefusesWhatThisComputerCannotHold) {
  json job =
      gpt_job(1, {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 1}}, json::object());
  job["batch"]["global"] = 1'000'000'000;
  EXPECT_THAT(run_error(job), AllOf(HasSubstr("GiB"), HasSubstr("a smaller batch")));
}

}  // namespace
}  // namespace superstep::test
