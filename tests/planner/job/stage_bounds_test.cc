// SPDX-License-Identifier: Apache-2.0
// Pins of stages as configurations have them: layers and bounds by IPU, and the order of IPU groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/job/check_pins.h"
#include "planner/job/job.h"
#include "planner/job/pinned_stages.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// GPT-2 of 12 layers, three units each, between an embedding and a head, on a pipeline of four IPUs.
json gpt2(const json& plan) {
  json job = {{"model", {{"zoo", "gpt2-small"}}}, {"machine", "ipu-pod4"}, {"batch", {{"global", 64}}}};
  job["plan"] = {{"pipeline_stages", 4}, {"replicas", 1}, {"micro_batch", 1}};
  job["plan"].update(plan);
  return job;
}

std::vector<std::int64_t> stages_of(const json& plan) {
  const Job job = read_job(gpt2(plan), "test");
  return pinned_stages(job, build_graph(job, 1));
}

std::string error_of(const json& plan) {
  try {
    const Job job = read_job(gpt2(plan), "test");
    pinned_stages(job, build_graph(job, 1));
    check_pins(job, 38);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::vector<double> shares(const Job& job) {
  std::vector<double> out;
  for (const Proportion& p : job.pins.stage_proportions) out.push_back(p.share);
  return out;
}

TEST(StageBounds, LayersMayLeaveTheRestToOneStage) {
  EXPECT_THAT(stages_of({{"layers_per_stage", {3, 3, 3, 3}}}), ElementsAre(0, 10, 19, 28));
  EXPECT_EQ(stages_of({{"layers_per_stage", {3, -1, 3, 3}}}), stages_of({{"layers_per_stage", {3, 3, 3, 3}}}));
  EXPECT_EQ(stages_of({{"layers_per_stage", {0, 4, -1, 4}}}), stages_of({{"layers_per_stage", {0, 4, 4, 4}}}));
  EXPECT_THAT(error_of({{"layers_per_stage", {3, -1, -1, 3}}}), HasSubstr("found -1 more than once"));
  EXPECT_THAT(error_of({{"layers_per_stage", {7, -1, 3, 3}}}), HasSubstr("found 13 layers without the rest"));
  EXPECT_THAT(error_of({{"layers_per_stage", {3, -2, 3, 3}}}),
              HasSubstr("/plan/layers_per_stage/1: expected an integer from -1"));
}

TEST(StageBounds, GoWithLayersByStageOrByIpu) {
  const json bounds = {{"stages", {0.15, 0.25, 0.2, 0.3}}};
  const Job by_stage =
      read_job(gpt2({{"layers_per_stage", {3, 3, 3, 3}}, {"available_memory_proportion", bounds}}), "test");
  EXPECT_THAT(*by_stage.pins.stages, ElementsAre(0, 10, 19, 28));
  EXPECT_THAT(shares(by_stage), ElementsAre(0.15, 0.25, 0.2, 0.3));
  // The head returns to the first IPU, with its bound.
  const Job by_ipu =
      read_job(gpt2({{"layers_per_stage", {3, 3, 3, 3, 0}}, {"available_memory_proportion", bounds}}), "test");
  EXPECT_THAT(shares(by_ipu), ElementsAre(0.15, 0.25, 0.2, 0.3, 0.15));
  EXPECT_THAT(error_of({{"layers_per_stage", {3, 3, 3, 3}}, {"available_memory_proportion", {{"stages", {0.1, 0.2}}}}}),
              HasSubstr("/plan/available_memory_proportion/stages: found 2 bounds for 4 stages"));
  EXPECT_THAT(error_of({{"available_memory_proportion", bounds}}),
              HasSubstr("found without stages or layers_per_stage"));
}

// Any order of the groups is taken, also of a plan that does not fit (the closest plan).
TEST(StageBounds, GroupsOfAPipelineAreTakenOrRefused) {
  for (const json& pins : {json{{"layers_per_stage", {3, 3, 3, 3}}, {"stage_ipu", {0, 1, 2, 3}}},
                           json{{"layers_per_stage", {3, 3, 3, 3}}, {"stage_ipu", {3, 2, 1, 0}}},
                           json{{"layers_per_stage", {3, 3, 3, 3, 0}}, {"stage_ipu", {1, 0, 2, 3, 1}}}}) {
    EXPECT_EQ(error_of(pins), "");
    for (const char* proportion : {"0.1", "0.6"}) {
      json plan = pins;
      plan["available_memory_proportion"] = json::parse(proportion);
      const Job job = read_job(gpt2(plan), "test");
      const CostModel model(job.machine, load_calibration());
      Tables tables(job, model);
      EXPECT_EQ(json(evaluate_pinned(tables, 1).plan.stage_ipu), pins["stage_ipu"]) << proportion;
    }
  }
  for (const json& pins : {json{{"layers_per_stage", {3, 3, 3, 3}}, {"stage_ipu", {0, 1, 2, 2}}},
                           json{{"layers_per_stage", {3, 3, 3, 3, 0}}, {"stage_ipu", {0, 1, 0, 2, 3}}},
                           json{{"layers_per_stage", {3, 3, 3, 3, 0}}, {"stage_ipu", {0, 1, 2, 3, 1}}}}) {
    EXPECT_THAT(error_of(pins), HasSubstr("/plan/stage_ipu: found " + pins["stage_ipu"].dump() + ", expected an IPU"));
  }
}

}  // namespace
}  // namespace superstep
