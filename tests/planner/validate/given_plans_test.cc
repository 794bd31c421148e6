// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/given_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "model/error.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json line_of(json job, const Plan& plan) {
  job.erase("batch");
  job["plan"] = to_json(plan);
  return job;
}

GivenPlans read(const std::vector<json>& lines) {
  std::stringstream text;
  for (const json& line : lines) text << line.dump() << "\n\n";  // empty lines are passed over
  return read_given_plans(text, "plans.jsonl");
}

std::string given_plans_error(const std::string& text) {
  std::istringstream lines(text);
  try {
    read_given_plans(lines, "plans.jsonl");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Lines of two models in turn, pipelines and phases: every line has the numbers of its own plan.
TEST(GivenPlans, AreEvaluatedAsOneByOne) {
  const std::vector<json> jobs = {
      test::small_bert(3), test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}}, "ipu-pod16")};
  std::vector<std::unique_ptr<test::World>> worlds;
  for (const json& job : jobs) worlds.push_back(std::make_unique<test::World>(job));
  test::Draw draw(7);
  std::vector<json> lines;
  std::vector<Plan> plans;
  for (int i = 0; i < 40; ++i) {
    test::World& world = *worlds[static_cast<std::size_t>(i % 2)];
    plans.push_back(i % 4 < 2 ? test::draw_pipeline(world, draw) : test::draw_phases(world, draw));
    lines.push_back(line_of(jobs[static_cast<std::size_t>(i % 2)], plans.back()));
  }
  const GivenPlans given = read(lines);
  ASSERT_EQ(given.size(), lines.size());
  EXPECT_EQ(given.worlds.size(), 2u);
  const GivenPass pass = evaluate_given(given);
  for (const GivenSetting& setting : given.settings) {
    Plan plan = setting.plan;
    for (std::size_t i = 0; i < setting.cuts.size(); ++i) {
      setting.cuts.put_into(plan, i);
      EXPECT_EQ(to_json(plan), to_json(plans[static_cast<std::size_t>((setting.lines[i] - 1) / 2)]));
    }
  }
  ASSERT_EQ(pass.estimates.size(), lines.size());
  for (const GivenEstimate& given_estimate : pass.estimates) {
    const auto line = static_cast<std::size_t>((given_estimate.line - 1) / 2);
    const Plan& plan = plans[line];
    test::World& world = *worlds[line % 2];
    const Setting setting(world.table(plan), plan, world.job.optimizer, plan.phased());
    const Estimate alone = evaluate(setting, plan);
    EXPECT_EQ(given_estimate.estimate.cycles, alone.cycles);
    EXPECT_EQ(given_estimate.estimate.tile_peak, alone.tile_peak);
    EXPECT_EQ(given_estimate.fits, alone.fits(setting));
    const Evaluated full = evaluate_in_full(world.tables, plan);
    EXPECT_NEAR(given_estimate.samples_per_second / full.samples_per_second, 1, 0.01);
  }
  const std::vector<GivenCheck> checks = check_given(given, pass, 1000, 2);
  EXPECT_EQ(checks.size(), lines.size());
  for (const GivenCheck& c : checks) EXPECT_TRUE(c.agrees()) << c.line;
}

// Plans that differ in their cuts alone share a setting, wherever their lines are.
TEST(GivenPlans, WithOneSettingStandTogether) {
  Plan first;
  first.pipeline_stages = 4;
  first.replicas = 4;
  first.stages = {0, 3, 6, 8};
  first.stage_ipu = {0, 1, 2, 3};
  first.gradient_accumulation = 7;
  Plan other = first, cut = first;
  other.available_memory_proportion = 0.2;
  cut.stages = {0, 2, 6, 8};
  const json job = test::small_bert(3);
  const GivenPlans given = read({line_of(job, first), line_of(job, other), line_of(job, cut)});
  ASSERT_EQ(given.settings.size(), 2u);
  EXPECT_EQ(given.settings[0].lines, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(given.settings[1].lines, (std::vector<std::int64_t>{3}));
  Plan third = given.settings[0].plan;
  EXPECT_EQ(third.stages, first.stages);
  given.settings[0].cuts.put_into(third, 1);
  EXPECT_EQ(third, cut);
}

TEST(GivenPlans, OfOtherBatchesShareTables) {
  Plan plan;
  plan.replicas = 16;
  json one = line_of(test::small_bert(3), plan), two = one;
  one["batch"] = {{"global", 16}};
  plan.gradient_accumulation = 2;
  two["plan"] = to_json(plan);
  EXPECT_EQ(read({one, two}).worlds.size(), 1u);
}

TEST(GivenPlans, ALineThatIsNoPlanInFullIsNamed) {
  Plan plan;
  plan.replicas = 16;
  const json good = line_of(test::small_bert(3), plan);
  const auto second = [&](const json& bad) { return given_plans_error(good.dump() + "\n" + bad.dump() + "\n"); };
  const auto with = [&](const char* pointer, const json& value) {
    json line = good;
    line[json::json_pointer(pointer)] = value;
    return second(line);
  };
  EXPECT_EQ(second(good), "no error");
  EXPECT_THAT(given_plans_error(good.dump() + "\n{\"model\": \n"), HasSubstr("plans.jsonl line 2 at byte"));
  EXPECT_EQ(second(json::array()), "plans.jsonl line 2: found an array, expected a job");
  EXPECT_THAT(with("/plan/replicaz", 16),
              AllOf(HasSubstr("plans.jsonl line 2#/plan/replicaz"), HasSubstr("did you mean")));
  EXPECT_THAT(with("/plan/replicas", {8, 16}), HasSubstr("line 2#/plan/replicas: found several, expected one value"));
  EXPECT_THAT(with("/plan/stages", {{0, 1}, {0, 2}}), HasSubstr("line 2#/plan/stages: found several"));
  EXPECT_THAT(with("/plan/precision/partials", {"fp16", "fp32"}),
              HasSubstr("line 2#/plan/precision/partials: found several"));
  EXPECT_THAT(with("/plan/serialisation", {{"head", {{"max", 4}}}}),
              HasSubstr("line 2#/plan/serialisation/head: found several"));
  EXPECT_THAT(with("/plan/micro_batch", {{"max", 4}}), HasSubstr("line 2#/plan/micro_batch: found a range"));
  EXPECT_THAT(with("/plan/phases", 1), HasSubstr("line 2#/plan/phases: found no list"));
  EXPECT_THAT(with("/plan/replicas", 8), HasSubstr("plans.jsonl line 2#/plan: "));  // of sixteen IPUs
  EXPECT_THAT(with("/plan/stages", {0, 1}), HasSubstr("plans.jsonl line 2#/plan: "));
  EXPECT_THAT(with("/batch", {{"global", 32}}), HasSubstr("line 2#/batch/global: found 32, expected replicas x"));
  EXPECT_THAT(with("/machine", "ipu-pod17"), HasSubstr("plans.jsonl line 2#/machine: "));
  for (const auto& [key, value] : good["plan"].items()) {
    if (key == "placement" || key == "precision" || key == "serialisation") continue;  // have defaults
    json line = good;
    line["plan"].erase(key);
    EXPECT_THAT(second(line), AllOf(HasSubstr("line 2#/plan/" + key), HasSubstr("expected one value"))) << key;
  }
  json none = good;
  none.erase("plan");
  EXPECT_THAT(second(none), HasSubstr("line 2#/plan: found none"));
  EXPECT_THAT(given_plans_error("\n\n"), HasSubstr("found no line"));
}

TEST(GivenPlans, ACheckBoundsTimeAndMemory) {
  EXPECT_TRUE((GivenCheck{0, 1.009, 1.029, 1.2, 0.995}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 1.011, 1, 1, 1}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 0.989, 1, 1, 1}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 1, 0.999, 1, 1}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 1, 1.031, 1, 1}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 1, 1, 0.99, 1}.agrees()));
  EXPECT_FALSE((GivenCheck{0, 1, 1, 1, 1.02}.agrees()));
}

}  // namespace
}  // namespace superstep
