// SPDX-License-Identifier: Apache-2.0
// Why the peak is not reached: rows that sum to the step, and changes that hold what they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/efficiency.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

nlohmann::json two_layers() {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 32}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 2},        {"replicas", 2},
                 {"micro_batch", 1},     {"gradient_accumulation", 16}, {"available_memory_proportion", 0.05}};
  return job;
}

TEST(Efficiency, RowsSumToTheStepAndUsefulTimeIsThatOfTheModel) {
  World world(two_layers());
  const Evaluated e = evaluate_pinned(world.tables, 1);
  const std::vector<EfficiencyRow> rows = efficiency_rows(e, world.tables);
  double sum = 0;
  for (const EfficiencyRow& row : rows) {
    sum += row.seconds;
    if (row.op.empty()) continue;
    EXPECT_GT(row.amp_efficiency, 0) << row.op;
    EXPECT_LE(row.amp_efficiency, 1) << row.op;
    EXPECT_LT(row.useful_seconds, row.seconds) << row.op;
  }
  EXPECT_DOUBLE_EQ(sum, e.step_seconds);
  EXPECT_EQ(rows.back().calls, 0);
}

TEST(Efficiency, AProductIsShownAsItIsCut) {
  World world(two_layers());
  const std::vector<EfficiencyRow> rows = efficiency_rows(evaluate_pinned(world.tables, 1), world.tables);
  const auto up = std::find_if(rows.begin(), rows.end(), [](const EfficiencyRow& row) {
    return row.op.find("ffn_up") != std::string::npos && row.unit.ends_with("forward");
  });
  ASSERT_NE(up, rows.end());
  EXPECT_EQ(up->product, "64 x 128 x 3072");
  // One unit on this stage, 16 micro-batches, once more for the backward pass.
  EXPECT_EQ(up->calls, 32);
  // 64 x 128 x 3072 useful multiply-adds of halves, 64 in a cycle on each of 1,472 tiles at 1.33 GHz, rounded up to
  // cycles.
  EXPECT_NEAR(up->useful_seconds, 32.0 * 64 * 128 * 3072 / 64 / 1472 / 1.33e9, 32 / 1.33e9);
}

// A window of few channels is padded for the matrix unit; what is useful of it is not.
TEST(Efficiency, UsefulTimeOfAFirstConvolutionIsOfItsOwnChannels) {
  nlohmann::json job = test::small_job("resnet50", {{"blocks", {1, 1, 1, 1}}, {"blocks_per_checkpoint", {4}}},
                                       {{"base", "ipu-pod4"}, {"partition", 1}});
  job["optimizer"] = {{"kind", "sgd_momentum"}};
  job["batch"] = {{"global", 8}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 4}};
  World world(job);
  const std::vector<EfficiencyRow> rows = efficiency_rows(evaluate_pinned(world.tables, 1), world.tables);
  const auto first = std::find_if(rows.begin(), rows.end(), [](const EfficiencyRow& row) {
    return row.product == "50176 x 147 x 64" && row.unit.ends_with("forward");
  });
  ASSERT_NE(first, rows.end());
  const double clock = world.job.machine.chip.clock.value, calls = static_cast<double>(first->calls);
  EXPECT_NEAR(first->useful_seconds, calls * 50176 * 147 * 64 / 64 / 1472 / clock, calls / clock);
  // 147 of 14 x 16 contracted, less what loading weights takes
  EXPECT_LT(first->amp_efficiency, 147.0 / 224);
  EXPECT_GT(first->amp_efficiency, 0.8 * 147 / 224 * 0.7);
  EXPECT_LT(first->useful_seconds, first->amp_efficiency * first->seconds);
}

TEST(Efficiency, EveryChangeIsOneFieldAndAsFastAsItSays) {
  const nlohmann::json job = two_layers();
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 1);
  const std::vector<PlanChange> changes = helpful_changes(e, world.tables);
  ASSERT_FALSE(changes.empty());  // a micro-batch of 1 is far from the best
  std::set<std::string> fields;
  for (const PlanChange& change : changes) {
    EXPECT_TRUE(fields.insert(change.field).second) << change.field;
    EXPECT_LE(change.step_seconds, 0.9995 * e.step_seconds) << change.field;  // else it is shown as 0.0 %
    EXPECT_EQ(change.overflow.empty(), change.over.value == 0) << change.field;
  }
  const auto micro = std::find_if(changes.begin(), changes.end(),
                                  [](const PlanChange& change) { return change.field == "micro_batch"; });
  ASSERT_NE(micro, changes.end());
  EXPECT_EQ(micro->from, "1");
  EXPECT_EQ(micro->to, "2");
  Plan plan = e.plan;
  plan.micro_batch = 2, plan.gradient_accumulation = 8;
  EXPECT_DOUBLE_EQ(evaluate_in_full(world.tables, plan).step_seconds, micro->step_seconds);
}

// A bound stays of its kind, and is named as the plan has it.
TEST(Efficiency, OtherBoundsCountTheSameLiveTensors) {
  nlohmann::json job = two_layers();
  job["model"].update({{"hidden", 1024}, {"heads", 8}, {"vocabulary", 8000}, {"sequence_length", 256}});
  job["plan"].update({{"micro_batch", 4}, {"gradient_accumulation", 4}});
  World world(job);
  Plan plan = evaluate_pinned(world.tables, 1).plan;
  plan.available_memory_proportion = {0.1, Live::unit};
  const std::vector<PlanChange> changes = helpful_changes(evaluate_in_full(world.tables, plan), world.tables);
  const auto bound = std::ranges::find(changes, "available_memory_proportion.proportion", &PlanChange::field);
  ASSERT_NE(bound, changes.end());
  EXPECT_EQ(bound->from, "0.1");
  plan.available_memory_proportion = {std::stod(bound->to), Live::unit};
  EXPECT_DOUBLE_EQ(evaluate_in_full(world.tables, plan).step_seconds, bound->step_seconds);
}

TEST(Efficiency, NothingThatFitsIsFasterThanTheBestPlan) {
  nlohmann::json job = two_layers();
  job.erase("plan");
  World world(job);
  SearchOptions options;
  options.pareto = options.find_fix = false;
  const SearchResult found = search(world.tables, options);
  ASSERT_FALSE(found.best.empty());
  for (const PlanChange& change : helpful_changes(evaluate_in_full(world.tables, found.best[0].plan), world.tables))
    EXPECT_EQ(change.fits, "does_not_fit") << change.field << " " << change.to;
}

}  // namespace
}  // namespace superstep
