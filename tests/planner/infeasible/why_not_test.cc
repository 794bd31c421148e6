// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/job/pins.h"
#include "planner/job/tell_apart.h"
#include "planner/report/evaluated.h"
#include "planner/report/time_lost.h"
#include "planner/report/waterfall.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(WhyNot, PinsTakeThePlaceOfTheJobs) {
  const json job = {{"plan",
                     {{"replicas", {{"min", 2}}},
                      {"layers_per_stage", {1, 1}},
                      {"location", {{"weights", "streaming"}, {"activations", "streaming"}}}}}};
  const json pins = {{"replicas", 4}, {"stages", {0, 3}}, {"location", {{"weights", "in_processor"}}}};
  EXPECT_EQ(with_pins(job, pins)["plan"],
            (json{{"replicas", 4},
                  {"stages", {0, 3}},
                  {"location", {{"weights", "in_processor"}, {"activations", "streaming"}}}}));
  EXPECT_EQ(with_pins(json::object(), pins)["plan"], pins);
  // Bounds of stages are of those stages; one for all stays.
  const json by_stage = {{"stages", {0, 4}}, {"available_memory_proportion", {{"stages", {0.1, 0.2}}}}};
  EXPECT_EQ(with_pins({{"plan", by_stage}}, {{"stages", {0, 3}}})["plan"], (json{{"stages", {0, 3}}}));
  EXPECT_EQ(with_pins({{"plan", {{"available_memory_proportion", 0.1}}}}, {{"stages", {0, 3}}})["plan"],
            (json{{"stages", {0, 3}}, {"available_memory_proportion", 0.1}}));
}

TEST(WhyNot, BoundsOfStagesAreHadIfEachIs) {
  Plan p;
  p.stages = {0, 3}, p.stage_ipu = {0, 1};
  p.stage_proportions = {0.1, {0.5, Live::unit}};
  const auto had = [&](const json& pin) { return unsatisfied_pins(p, {{"available_memory_proportion", pin}}).empty(); };
  const json unit = {{"live", "unit"}, {"proportion", 0.5}};
  EXPECT_TRUE(had({{"stages", {0.1, unit}}}));
  EXPECT_FALSE(had({{"stages", {0.2, unit}}}));
  EXPECT_FALSE(had(0.1));
  EXPECT_FALSE(had(unit));
  p.stage_proportions = {0.1, 0.2};
  EXPECT_TRUE(had({{"min", 0.1}, {"max", 0.2}}));
  EXPECT_TRUE(had({{"live", "none"}}));
  EXPECT_FALSE(had({{"max", 0.1}}));
}

TEST(WhyNot, KnowsWhichPinsAPlanHas) {
  Plan p;
  p.tensor_parallel = {8, 1};
  p.replicas = 4;
  p.stages = {0, 3}, p.stage_ipu = {0, 1}, p.phases = {0, 1};
  p.recompute = {Recompute::layer, Recompute::layer};
  p.location.weights = Location::streaming;
  for (const json& had : std::vector<json>{{{"tensor_parallel", {8, 1}}},
                                           {{"tensor_parallel", {4, 8, 16}}},
                                           {{"replicas", {{"min", 2}}}},
                                           {{"replicas", {{"min", 2}, {"max", 4}}}},
                                           {{"replicas", {1, 4}}},
                                           {{"phases", 2}},
                                           {{"stages", {0, 3}}},
                                           {{"recompute", "layer"}},
                                           {{"available_memory_proportion", {{"max", 1}}}},
                                           {{"activation_sharding", false}},
                                           {{"location", {{"weights", {"streaming", "remote_ipu"}}}}}})
    EXPECT_THAT(unsatisfied_pins(p, had), IsEmpty()) << had;
  EXPECT_THAT(unsatisfied_pins(p, {{"replicas", {{"min", 5}}}}), ElementsAre("/replicas"));
  p.available_memory_proportion = 0.5;
  EXPECT_THAT(unsatisfied_pins(p, {{"available_memory_proportion", 0.5}}), IsEmpty());
  EXPECT_THAT(unsatisfied_pins(p, {{"available_memory_proportion", 0.6}}), ElementsAre("/available_memory_proportion"));
  const auto missing = [&](const json& pin) {
    return !unsatisfied_pins(p, {{"available_memory_proportion", pin}}).empty();
  };
  const json unit = {{"live", "unit"}}, between = {{"live", "unit"}, {"proportion", {{"min", 0.2}, {"max", 0.6}}}};
  p.available_memory_proportion = {0.5, Live::unit};
  for (const json& had : {unit, between, json{{"live", "unit"}, {"proportion", {0.4, 0.5}}}})
    EXPECT_FALSE(missing(had)) << had;
  for (const json& other :
       {json(0.5), json{{"live", "none"}}, json{{"live", "unit"}, {"proportion", 0.6}}, json{{"max", 0.6}}})
    EXPECT_TRUE(missing(other)) << other;
  p.available_memory_proportion = 0.5;
  EXPECT_FALSE(missing({{"live", "none"}, {"proportion", 0.5}}));
  EXPECT_TRUE(missing(unit));
  for (const char* of_phases : {"grouped", "interleaved"})
    EXPECT_THAT(unsatisfied_pins(p, {{"schedule", of_phases}}), IsEmpty()) << "of no effect";
  EXPECT_THAT(unsatisfied_pins(p, {{"replicas", {{"max", 3}}}}), ElementsAre("/replicas"));
  EXPECT_THAT(unsatisfied_pins(p, {{"tensor_parallel", {4, 2}}}), ElementsAre("/tensor_parallel"));
  for (const json& two : {json{1, 2}, json{{"min", 2}}, json{0, 1}})
    EXPECT_THAT(unsatisfied_pins(p, {{"phases", two}}), IsEmpty()) << two;
  for (const json& others : {json(3), json{1, 3}, json{{"min", 3}}, json{0, 2}, json{0}})
    EXPECT_THAT(unsatisfied_pins(p, {{"phases", others}}), ElementsAre("/phases")) << others;
  EXPECT_THAT(unsatisfied_pins(p, {{"stages", {0, 2}}}), ElementsAre("/stages"));
  EXPECT_THAT(unsatisfied_pins(p, {{"layers_per_stage", {1, 1}}}), ElementsAre("/layers_per_stage"));
  EXPECT_THAT(unsatisfied_pins(p, {{"location", {{"weights", "in_processor"}}}}), ElementsAre("/location/weights"));
  EXPECT_THAT(unsatisfied_pins(p, {{"load", "preload"}}), ElementsAre("/load/weights")) << "code stays";
  p.location.code = Location::streaming;
  p.load.weights = LoadSchedule::preload;
  EXPECT_THAT(unsatisfied_pins(p, {{"load", "preload"}}), ElementsAre("/load/code"));
  EXPECT_THAT(unsatisfied_pins(p, {{"load", {{"weights", "preload"}}}}), IsEmpty());
  EXPECT_THAT(unsatisfied_pins(p, {{"load", {{"code", {"on_demand", "preload"}}}}}), IsEmpty());
}

TEST(WhyNot, LossesSumToTheDifferenceOfStepTimes) {
  World world(test::small_gpt({}));
  Plan a, b;
  a.replicas = b.replicas = 4;
  a.gradient_accumulation = 8;
  b.micro_batch = 2, b.gradient_accumulation = 4;
  b.location.optimizer_state = Location::streaming;
  const Evaluated first = evaluate_in_full(world.tables, a), second = evaluate_in_full(world.tables, b);
  const std::vector<LostTime> lost = time_lost(waterfall(first, world.model), waterfall(second, world.model), 1);
  double sum = 0;
  for (std::size_t i = 0; i < lost.size(); ++i) {
    sum += lost[i].lost();
    EXPECT_LE(lost[i].lost(), lost[i == 0 ? 0 : i - 1].lost());
  }
  EXPECT_NE(first.step_seconds, second.step_seconds);
  EXPECT_NEAR(sum, second.step_seconds - first.step_seconds, 1e-12 * first.step_seconds);
  // Only the second one streams.
  const auto streams = [](const LostTime& t) { return t.first == 0 && t.second > 0 && t.name.find("streaming") == 0; };
  EXPECT_TRUE(std::any_of(lost.begin(), lost.end(), streams));

  std::vector<std::string> fields;
  for (const DifferentField& d : different_fields(a, b)) fields.push_back(d.field);
  EXPECT_THAT(fields, ElementsAre("gradient_accumulation", "location.optimizer_state", "micro_batch"));
}

TEST(WhyNot, OtherBatchesAreBroughtToTheFirsts) {
  const std::vector<WaterfallRow> first = {{"x", "compute", "", 2}},
                                  second = {{"x", "compute", "", 3}, {"y", "links", "", 1}};
  const std::vector<LostTime> lost = time_lost(first, second, 0.5);
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].name, "y");
  EXPECT_EQ(lost[0].lost(), 0.5);
  EXPECT_EQ(lost[1].lost(), -0.5);
}

}  // namespace
}  // namespace superstep
