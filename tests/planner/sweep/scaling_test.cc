// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::small_gpt;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Job job_of(const json& j) { return read_job(j, "test job"); }

json on(const json& machine) {
  json job = small_gpt({{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"micro_batch", 8}});
  job["machine"] = machine;
  test::let_fill_tiles(job);
  return job;
}

std::string scaling_error(const json& job, const ScalingOptions& options) {
  try {
    scale(job_of(job), options);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Scaling, AFamilyIsWhatDiffersInTheNumberAtItsEnd) {
  EXPECT_THAT(sizes_of_family(job_of(on("ipu-pod16"))), ElementsAre(4, 16, 64, 128, 256));
  EXPECT_THAT(sizes_of_family(job_of(on({{"base", "bow-pod4"}}))), ElementsAre(4, 16, 64, 128, 256));
}

TEST(Scaling, WhatHangsOnTheReplicasIsFreed) {
  json job = on({{"base", "ipu-pod16"}, {"override", {{"chip", {{"clock", "1 GHz"}}}}}});
  job["batch"]["global"] = 128;
  job["plan"].update(
      {{"replicas", 16}, {"gradient_accumulation", 1}, {"replicated_tensor_sharding", {{"weights", 2}}}});
  json expected = job;
  expected["machine"]["base"] = "ipu-pod64";
  expected["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"micro_batch", 8}};
  expected["limits"]["ipus"] = {{"min", 64}, {"max", 64}};
  EXPECT_EQ(scaled_job(job_of(job), ScalingKind::strong, 64), expected);
  expected["batch"]["global"] = 128 * 64 / 16;
  EXPECT_EQ(scaled_job(job_of(job), ScalingKind::weak, 64), expected);
}

// 32 samples on 4 IPUs in micro-batches of 8: one for each. 16 IPUs have 2 samples each of the same batch, and again 8
// where it grows to 128.
TEST(Scaling, RowsAreTheBestPlansOfTheirSizes) {
  const Scaling s = scale(job_of(on("ipu-pod4")), {.ipus = {16, 4}, .time_limit = 0});
  EXPECT_EQ(s.family, "ipu-pod");
  ASSERT_EQ(s.sizes.size(), 4u);
  const ScaledSize &strong4 = s.sizes[0], &strong16 = s.sizes[1], &weak4 = s.sizes[2], &weak16 = s.sizes[3];
  EXPECT_THAT(strong16.failure, StartsWith("/plan/micro_batch: found 8, which does not divide"));
  EXPECT_EQ(strong4.samples_per_second, weak4.samples_per_second) << "the same job";
  EXPECT_EQ(strong4.plan.replicas, 4);
  EXPECT_EQ(weak16.plan.replicas, 16);
  EXPECT_EQ(weak16.global_batch, 128);

  json grown = on("ipu-pod16");
  grown["batch"]["global"] = 128;
  test::World world(grown);
  const SearchResult alone = search(world.tables, {.top = 1, .pareto = false, .find_fix = false});
  EXPECT_EQ(weak16.samples_per_second, evaluate_in_full(world.tables, alone.best.at(0).plan).samples_per_second);
  EXPECT_DOUBLE_EQ(weak16.speed_up, weak16.samples_per_second / weak4.samples_per_second);
  EXPECT_DOUBLE_EQ(weak16.efficiency, weak16.speed_up / 4);
  EXPECT_LT(weak16.efficiency, 1.0) << "gradients cross more IPUs";
  EXPECT_LT(weak16.step_band.low, weak16.step_seconds);
  EXPECT_EQ(weak16.samples_per_joule(), weak16.samples_per_second / load_machine("ipu-pod16").rated_power.value);
}

TEST(Scaling, ASizeWithoutAPlanSaysWhatIsOver) {
  json job = on(
      {{"base", "ipu-pod4"}, {"override", {{"chip", {{"tile_memory", "20 KiB"}, {"executable_memory", "20 KiB"}}}}}});
  const Scaling s = scale(job_of(job), {.ipus = {4}, .time_limit = 0});
  ASSERT_EQ(s.sizes.size(), 2u);
  for (const ScaledSize& size : s.sizes) EXPECT_THAT(size.failure, StartsWith("no plan fits: tile memory on "));
  EXPECT_THAT(s.sizes[0].failure, HasSubstr(" KiB"));
  for (const PlotSeries& series : plot_of(s).series) EXPECT_TRUE(series.points.empty());
  EXPECT_EQ(to_json(s)["strong"][0]["failure"], s.sizes[0].failure);
}

TEST(Scaling, ThePlotHasEachPlanAndItsIdeal) {
  Scaling s{"net", "pod", {}};
  for (ScalingKind kind : {ScalingKind::strong, ScalingKind::weak}) {
    for (std::int64_t ipus : {4, 16}) {
      ScaledSize size;
      size.kind = kind;
      size.ipus = ipus;
      size.samples_per_second = ipus == 4 ? 100 : 300;
      size.efficiency = ipus == 4 ? 1 : 0.75;
      s.sizes.push_back(size);
    }
  }
  s.sizes[3].failure = "no plan fits";
  const LinePlot plot = plot_of(s);
  ASSERT_EQ(plot.series.size(), 4u);
  EXPECT_THAT(plot.x_ticks, ElementsAre(4, 16));
  EXPECT_EQ(plot.series[0].points[1].y, 300);
  EXPECT_EQ(plot.series[1].points.size(), 1u) << "no plan, no point";
  EXPECT_EQ(plot.series[2].points[1].y, 400) << "four times as many IPUs as gave 100";
  EXPECT_TRUE(plot.series[2].dashed);
}

TEST(Scaling, RefusesWhatHasNoSizes) {
  EXPECT_THAT(scaling_error(on("toy"), {}),
              StartsWith("test job#/machine: found \"toy\", expected a machine of a family"));
  EXPECT_THAT(scaling_error(on({{"base", "ipu-pod16"}, {"partition", 4}}), {}),
              StartsWith("test job#/machine/partition"));
  EXPECT_THAT(scaling_error(on("ipu-pod4"), {.ipus = {4, 32}}),
              testing::StrEq("--sizes: found 32, expected some of 4, 16, 64, 128, 256"));
  json job = on("ipu-pod4");
  job.erase("batch");
  EXPECT_THAT(scaling_error(job, {}), StartsWith("test job#/batch/global: found none"));
}

}  // namespace
}  // namespace superstep
