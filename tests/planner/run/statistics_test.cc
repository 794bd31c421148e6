// SPDX-License-Identifier: Apache-2.0
// Batch norm in a file: which plans the search offers, what they cost, and that they run to the bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/run/run.h"
#include "planner/run/verify.h"
#include "planner/space/space.h"
#include "planner/space/space_fields.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFolder = std::string(SUPERSTEP_REFERENCES) + "/images_w8";  // exported for 8 samples

json images_job(const json& machine, std::int64_t batch, const json& plan) {
  json job = {{"model", {{"onnx", kFolder + "/train.onnx"}}},
              {"machine", machine},
              {"optimizer", {{"kind", "sgd"}, {"learning_rate", 0.1}}},
              {"batch", {{"global", batch}}},
              {"plan", plan},
              {"run", {{"data", kFolder + "/test_data_set_0"}, {"steps", 2}, {"chunk", 1}}}};
  job["plan"]["precision"] = {
      {"weights", "fp32"}, {"activations", "fp32"}, {"partials", "fp32"}, {"accumulators", "fp32"}};
  return job;
}

// Of so many IPUs.
json pinned_job(std::int64_t t, std::int64_t p, std::int64_t r, std::int64_t m, std::int64_t g) {
  return images_job({{"base", "ipu-pod16"}, {"partition", t * p * r}}, r * m * g,
                    {{"tensor_parallel", t},
                     {"pipeline_stages", p},
                     {"replicas", r},
                     {"schedule", "sequential"},
                     {"micro_batch", m},
                     {"gradient_accumulation", g}});
}

std::string search_error(const json& job) {
  try {
    World world(job);
    best_of(world);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(StatisticsGroups, AreTheBatchOfTheFileOrAsTold) {
  json job = pinned_job(1, 1, 2, 4, 1);
  EXPECT_EQ(World(job).tables.statistics_group(), 8);
  job["model"]["statistics_group"] = 4;
  EXPECT_EQ(World(job).tables.statistics_group(), 4);
  EXPECT_EQ(build_graph(World(job).job, 8).statistics_group, 4);
  job["model"] = {{"onnx", std::string(SUPERSTEP_REFERENCES) + "/encoder_h16/train.onnx"}};
  EXPECT_EQ(World(job).tables.statistics_group(), 0);
}

TEST(StatisticsGroups, AreNotSplitOverMicroBatches) {
  EXPECT_THAT(search_error(pinned_job(1, 1, 2, 3, 1)),
              HasSubstr("#/plan/micro_batch: a statistics group of 8 samples cannot be cut into micro-batches of 3; "
                        "expected a multiple or a divisor"));
  EXPECT_THAT(search_error(pinned_job(1, 1, 2, 2, 1)), HasSubstr("#/plan/replicas: "));
}

// Such plans are costed: a join in every micro-batch. To run them, the plain model would need groups of samples that
// do not follow each other.
TEST(StatisticsGroups, OverReplicasAreNotRunWithSeveralMicroBatches) {
  World world(pinned_job(1, 1, 2, 4, 2)), one(pinned_job(1, 1, 2, 4, 1));
  const Plan plan = best_of(world);
  const auto joined = [](World& w) {
    const Plan p = best_of(w);
    const Timeline timeline = cost(lower(w.table(p), p, w.job.optimizer), w.model);
    return timeline.step[Term::tensor_collective];
  };
  EXPECT_GT(joined(one), 0);
  EXPECT_EQ(joined(world), 2 * joined(one));
  const Program program = lower(world.table(plan), plan, world.job.optimizer);
  try {
    run_job(world.tables, plan, program, {.threads = 1, .progress = {}});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("#/plan/gradient_accumulation: found 2 with statistics groups of 8 samples over 2 "
                                    "replicas; run takes such groups with gradient_accumulation 1 only"));
  }
}

TEST(StatisticsGroups, DecideWhatTheSearchOffers) {
  const json job = images_job("ipu-pod4", 16, json::object());
  World world(job);
  std::set<std::int64_t> offered;
  for (const Cell& cell : cells(world.job, world.tables.statistics_group())) offered.insert(cell.micro_batch);
  EXPECT_THAT(offered, ElementsAre(2, 4, 8, 16));
  const SearchResult found = search(world.tables, {.pareto = false});
  ASSERT_FALSE(found.best.empty());
  for (const Candidate& c : found.best) EXPECT_EQ(world.problem(c.plan), "") << label(c.plan);
  const std::vector<SpaceField> space = space_fields(world.job, {world.job}, world.tables.statistics_group());
  const auto field =
      std::find_if(space.begin(), space.end(), [](const SpaceField& f) { return f.name == "statistics_group"; });
  ASSERT_NE(field, space.end());
  EXPECT_THAT(field->text(), HasSubstr("8 samples; without micro_batch 1: a statistics group of 8 samples"));
}

// Cycles of a step: by the tables, and of the lowered program.
struct Costs {
  std::int64_t tables = 0, lowered = 0;
  Costs(World& world, const Plan& plan) {
    const UnitTable& table = world.table(plan);
    tables = evaluate(Setting(table, plan, world.job.optimizer, plan.phased()), plan).cycles;
    lowered = cost(lower(table, plan, world.job.optimizer), world.model).step.total().value;
  }
};

struct Degrees {
  std::int64_t t, p, r, m, g;
};

class PlanOfStatistics : public testing::TestWithParam<Degrees> {};

TEST_P(PlanOfStatistics, CostsWhatIsLoweredAndRunsToTheBits) {
  const auto [t, p, r, m, g] = GetParam();
  const json job = pinned_job(t, p, r, m, g);
  World world(job);
  const Plan plan = best_of(world);
  const Program program = lower(world.table(plan), plan, world.job.optimizer);
  std::int64_t joins = 0;
  for (const Function& f : program.functions) {
    for (const Step& s : f.steps) {
      if (s.data != Data::statistics) continue;
      ++joins;
      EXPECT_EQ(s.group.size, 8 / m);
      EXPECT_EQ(s.group.stride, t * p);
    }
  }
  EXPECT_EQ(joins > 0, m < 8);
  json apart = job;
  apart["model"]["statistics_group"] = m;
  World without(apart);
  const Costs joined(world, plan), alone(without, plan);
  EXPECT_EQ(joined.tables - alone.tables, joined.lowered - alone.lowered);
  EXPECT_EQ(joined.lowered > alone.lowered, m < 8);
  const RunOutcome outcome = run_job(world.tables, plan, program, {.threads = 1, .progress = {}});
  EXPECT_FALSE(outcome.failure);
  EXPECT_TRUE(outcome.difference.identical) << outcome.difference.max_abs;
}

// m, r and the group become smaller together: a group that several replicas share still is.
TEST(StatisticsGroups, AreScaledDownWithThePlanToBeVerified) {
  const auto scaled_group = [](std::int64_t r, std::int64_t m, std::int64_t group) {
    json job = pinned_job(1, 1, r, m, 1);
    job["model"]["statistics_group"] = group;
    World world(job);
    const Plan plan = best_of(world);
    const auto units = static_cast<std::int64_t>(world.tables.facts(m).graph.units.size());
    const Verification v = verify(world.job, plan, units, 1);
    EXPECT_TRUE(v.identical()) << v.sentence();
    return v.scaled.job["model"]["statistics_group"].get<std::int64_t>();
  };
  EXPECT_EQ(scaled_group(4, 2, 8), 4);
  EXPECT_EQ(scaled_group(4, 8, 8), 2);
  EXPECT_EQ(scaled_group(4, 8, 4), 1);
}

INSTANTIATE_TEST_SUITE_P(Degrees, PlanOfStatistics,
                         testing::Values(Degrees{1, 1, 2, 4, 1}, Degrees{1, 1, 4, 2, 1}, Degrees{1, 1, 8, 1, 1},
                                         Degrees{2, 1, 2, 4, 1}, Degrees{1, 2, 4, 4, 1}, Degrees{1, 1, 1, 8, 2},
                                         Degrees{1, 1, 2, 16, 1}),
                         [](const auto& name) {
                           const Degrees& d = name.param;
                           return "t" + std::to_string(d.t) + "p" + std::to_string(d.p) + "r" + std::to_string(d.r) +
                                  "m" + std::to_string(d.m) + "g" + std::to_string(d.g);
                         });

}  // namespace
}  // namespace superstep::test
