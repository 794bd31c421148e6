// SPDX-License-Identifier: Apache-2.0
// What is asked of a search: goals, fronts, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/machine/load_machine.h"
#include "planner/job/tell_apart.h"
#include "planner/report/evaluated.h"
#include "planner/search/best_first.h"
#include "planner/search/front.h"
#include "planner/space/job_parts.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;
using testing::ElementsAre;

SearchResult searched(const json& job) {
  World world(job);
  return search(world.tables, {});
}

TEST(Goal, ThroughputIsSamplesPerSecond) {
  const Goal goal{Objective::throughput, 0};
  EXPECT_EQ(goal.score(64, 0.5), 128);
  EXPECT_EQ(goal.step_seconds(64, 128), 0.5);
}

TEST(Goal, LatencyIsStepsPerSecondWhateverTheBatch) {
  const Goal goal{Objective::latency, 0};
  EXPECT_EQ(goal.score(64, 0.5), 2);
  EXPECT_EQ(goal.score(1, 0.5), 2);
  EXPECT_EQ(goal.step_seconds(64, 4), 0.25);
}

TEST(Goal, TrainingTakesWholeSteps) {
  const Goal goal{Objective::time_to_train, 100};
  EXPECT_EQ(goal.score(50, 1), 50);         // 2 steps
  EXPECT_EQ(goal.score(64, 1), 50);         // 2 steps too
  EXPECT_DOUBLE_EQ(goal.score(33, 1), 25);  // 4
  EXPECT_EQ(goal.step_seconds(64, 25), 2);
}

TEST(Goal, LatencyFindsTheShortestStepOfAFreeBatch) {
  json job = test::small_inference();
  const Candidate rate = searched(job).best.at(0);
  job["objective"] = "latency";
  const Candidate step = searched(job).best.at(0);
  EXPECT_LT(step.estimate.cycles, rate.estimate.cycles);
  EXPECT_LT(step.samples_per_second, rate.samples_per_second);
  EXPECT_EQ(step.plan.micro_batch, 1);
}

TEST(Goal, TimeToTrainCountsTheLastStepInFull) {
  json job = test::small_gpt({});
  job["objective"] = "time_to_train";
  job["train_for"] = {{"samples", 33}};  // batch 32: two steps
  World world(job);
  const Candidate best = search(world.tables, {}).best.at(0);
  const Evaluated e = evaluate_in_full(world.tables, best.plan);
  EXPECT_DOUBLE_EQ(e.time_to_train, 2 * e.step_seconds);
}

// In any order; two numbers alone are one mesh.
TEST(Pins, ListsOfMeshesHaveNumbersToo) {
  const auto meshes = [](const json& pin) {
    return World(test::small_gpt({{"tensor_parallel", pin}})).job.pins.tensor_parallel;
  };
  EXPECT_THAT(meshes(json::array({4, {2, 2}})), ElementsAre(TensorParallel{4, 1}, TensorParallel{2, 2}));
  EXPECT_THAT(meshes(json::array({{2, 2}, 4})), ElementsAre(TensorParallel{2, 2}, TensorParallel{4, 1}));
  EXPECT_THAT(meshes({2, 2}), ElementsAre(TensorParallel{2, 2}));
}

TEST(Goal, TokensAreSamplesOfTheSequenceLength) {
  json job = test::small_gpt({});
  const std::int64_t sequence = std::get<TransformerSpec>(*World(job).job.model.zoo).sequence_length;
  job["train_for"] = {{"tokens", 10 * sequence + 1}};
  EXPECT_EQ(World(job).job.goal.samples, 11);
}

TEST(Front, OfThroughputAndLatencyTradesOneForTheOther) {
  json job = test::small_inference();
  job["pareto"] = {"throughput", "latency"};
  const std::vector<Candidate> front = searched(job).pareto;
  ASSERT_GE(front.size(), 3U);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_LT(front[i].estimate.cycles, front[i - 1].estimate.cycles);
    EXPECT_LT(front[i].samples_per_second, front[i - 1].samples_per_second);
  }
  job["objective"] = "latency";
  EXPECT_EQ(searched(job).best.at(0).estimate.cycles, front.back().estimate.cycles);
}

// Of each partition no plan takes less of a tile, within 1 %.
TEST(Front, OfMemoryAndIpusHasThePlansWithLeastMemory) {
  json job = test::small_gpt({});
  job["pareto"] = {"memory", "ipus"};
  std::int64_t further = 0;
  for (const Job& part : job_parts(World(job).job)) {
    World world(part.json());
    const std::vector<Candidate> front = searched(part.json()).pareto;
    ASSERT_FALSE(front.empty());
    const std::int64_t least =
        std::ranges::min(front, {}, [](const Candidate& c) { return c.estimate.tile_peak; }).estimate.tile_peak;
    further += front.front().estimate.tile_peak > least;
    const SearchOptions options;
    BestFirst space(world.tables, options, cells(part));
    space.sweep({part.goal, true, least - least / 100 - 1});
    for (const Candidate& c : space.best()) EXPECT_LT(c.samples_per_second, 0.05 * front[0].samples_per_second);
  }
  EXPECT_GT(further, 1);
}

TEST(Front, KeepsWhatNothingIsBetterThan) {
  std::vector<Evaluated> plans(4);
  const double rates[] = {10, 30, 20, 20};
  const std::int64_t peaks[] = {5, 9, 9, 7};
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].samples_per_second = rates[i], plans[i].tile_peak = peaks[i];
  keep_front(plans, {Measure::throughput, Measure::memory});
  std::vector<double> left;
  for (const Evaluated& e : plans) left.push_back(e.samples_per_second);
  EXPECT_THAT(left, ElementsAre(30, 20, 10));
}

TEST(Limits, StreamingMemoryIsTheLesserOfMachineAndJob) {
  json job = test::small_gpt({});
  job["machine"] = "ipu-m2000";
  job["limits"] = {{"ddr_bytes_per_ipu", 1 << 20}};
  EXPECT_EQ(World(job).job.machine.streaming_per_ipu().value, 1 << 20);
  job["limits"] = {{"ddr_bytes_per_ipu", std::int64_t{1} << 60}};
  EXPECT_EQ(World(job).job.machine, load_machine("ipu-m2000"));
}

TEST(DistinctLabels, SayWhatDiffersWhereLabelsDoNot) {
  World world(test::small_gpt({}));
  const Plan a = search(world.tables, {}).best.at(0).plan;
  Plan b = a;
  b.location.optimizer_state = Location::streaming;
  ASSERT_EQ(a.recompute, std::vector{Recompute::none});
  b.recompute = {Recompute::layer};
  EXPECT_THAT(distinct_labels({&a, &b}), ElementsAre(label(a), label(a) + ", state streaming, recompute layer"));
}

// A proportion is a number in one plan and has members in another; so has a load.
TEST(DistinctLabels, SayWhichBoundsAndLoadsDiffer) {
  Plan number, live, tight;
  live.available_memory_proportion = {0.5, Live::layer};
  tight.available_memory_proportion = 0.1;
  live.load.weights = tight.load.weights = LoadSchedule::preload;
  const std::string name = label(number);
  EXPECT_THAT(distinct_labels({&number, &live}),
              ElementsAre(name, name + ", available_memory_proportion live layer proportion 0.5, load code on_demand "
                                       "weights preload"));
  EXPECT_THAT(distinct_labels({&live, &number}),
              ElementsAre(name, name + ", available_memory_proportion 0.6, load on_demand"));
  EXPECT_EQ(different_fields(live, tight).at(0).field, "available_memory_proportion");
  live.available_memory_proportion = {0.4, Live::layer};
  Plan other = live;
  other.available_memory_proportion = {0.5, Live::layer};
  EXPECT_THAT(distinct_labels({&live, &other}), ElementsAre(name, name + ", proportion 0.5"));
}

}  // namespace
}  // namespace superstep
