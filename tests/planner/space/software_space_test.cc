// SPDX-License-Identifier: Apache-2.0
// Rules of software in the space of plans: which parts a job has, which values its lists keep, which cuts there are.
#include "planner/space/software_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/cost/fit_probability.h"
#include "model/error.h"
#include "planner/space/job_parts.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json bert() {
  json job = test::small_bert(2);
  job["batch"] = {{"global", 256}};
  return job;
}

std::vector<std::string> software_of_parts(const json& job) {
  std::vector<std::string> names;
  for (const Job& part : job_parts(read_job(job, "test job"))) {
    if (names.empty() || names.back() != part.software.at(0)) names.push_back(part.software.at(0));
  }
  return names;
}

TEST(SoftwareParts, AreOneForEachSoftwareThatNoOtherCovers) {
  json job = bert();
  job["limits"] = {{"ipus", {{"min", 16}}}};
  EXPECT_THAT(software_of_parts(job), ElementsAre("popart", "popxl", "tensorflow"));  // PopTorch runs on PopART
  job["software"] = "poptorch";
  EXPECT_THAT(software_of_parts(job), ElementsAre("poptorch"));
  job["software"] = {"popxl", "any"};
  EXPECT_THAT(software_of_parts(job), ElementsAre("any"));
}

TEST(SoftwareParts, RefuseNamesThatAreNone) {
  const auto error = [](const json& software) {
    json job = bert();
    job["software"] = software;
    try {
      read_job(job, "test job");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error("popat"), AllOf(HasSubstr("#/software: found \"popat\""), HasSubstr("popart")));
  EXPECT_THAT(error("vipu"), HasSubstr("found \"vipu\""));  // starts programs, and runs no model
  EXPECT_THAT(error(json::array()), HasSubstr("found an empty list"));
  EXPECT_THAT(error(3), HasSubstr("found 3"));
}

// PopART has Streaming Memory and tiles, shards among all replicas or none, and no tensor parallelism.
TEST(SoftwareSpace, ListsKeepWhatTheRulesAllow) {
  json job = bert();
  job["software"] = "popart";
  const Job read = read_job(job, "test job");
  int pipelines = 0;
  for (const Cell& cell : cells(read)) {
    for (const SettingSpace& space : setting_spaces(read, cell, false)) {
      EXPECT_EQ(cell.mesh.size(), 1);
      EXPECT_EQ(cell.placement, Placement::t_p_r);
      EXPECT_TRUE(space.phased || space.common.schedule != Schedule::interleaved);
      for (const auto* list : {&space.weights, &space.gradients, &space.states}) {
        for (const Storage& s : *list) {
          EXPECT_TRUE(s.at == Location::in_processor || s.at == Location::streaming);
          EXPECT_TRUE(s.degree == 1 || s.degree == cell.replicas) << s.degree << " of " << cell.replicas;
        }
      }
      for (const Stash& s : space.stashes) {
        EXPECT_EQ(s.sharding, ActivationSharding::none);
        EXPECT_TRUE(space.phased || s.at == Location::in_processor);
      }
      pipelines += space.phased ? 0 : 1;
    }
  }
  EXPECT_GT(pipelines, 0);
}

Plan pipeline(std::int64_t stages, std::int64_t accumulation) {
  Plan plan;
  plan.pipeline_stages = stages;
  plan.replicas = 16 / stages;
  plan.gradient_accumulation = accumulation;
  plan.schedule = stages > 1 ? Schedule::grouped : Schedule::sequential;
  return plan;
}

// Tied weights of a pipeline are on one IPU in PopART. All its stages but the last are computed again, or none is.
TEST(SoftwareSpace, ShapesOfCutsAreThoseOfTheRules) {
  json job = bert();
  job["software"] = "popart";
  const Job read = read_job(job, "test job");
  const SoftwareSpace software(read);
  using enum Recompute;
  const std::vector<CutShape> tied = software.shapes(pipeline(4, 64), false, true);
  ASSERT_EQ(tied.size(), 4u);  // straight and back to IPU 0, each in two ways of recompute
  for (const CutShape& shape : tied) {
    EXPECT_TRUE(shape.ties_together);
    EXPECT_THAT(shape.modes, testing::AnyOf(ElementsAre(layer, stage), ElementsAre(none)));
  }
  for (const CutShape& shape : software.shapes(pipeline(4, 64), false, false)) EXPECT_FALSE(shape.ties_together);
  // Four stages need 7 micro-batches forward and back, five need 9.
  for (const CutShape& shape : software.shapes(pipeline(4, 8), false, true)) EXPECT_FALSE(shape.wrap);
  EXPECT_TRUE(software.shapes(pipeline(4, 6), false, true).empty());

  json any = bert();
  any["software"] = "any";
  const Job free = read_job(any, "test job");
  const std::vector<CutShape> all = SoftwareSpace(free).shapes(pipeline(4, 1), false, true);
  ASSERT_EQ(all.size(), 2u);  // of any modes, straight and back
  EXPECT_TRUE(all[0].modes.empty());
}

TEST(SoftwareSpace, MeasuredAloneLeavesPipelines) {
  json job = bert();
  job["software"] = "popart";
  Job read = read_job(job, "test job");
  read.measured_alone = true;
  for (const Cell& cell : cells(read)) {
    for (const SettingSpace& space : setting_spaces(read, cell, false)) {
      EXPECT_FALSE(space.phased);
      for (const Storage& s : space.weights) EXPECT_EQ(s.degree, 1);
    }
  }
}

TEST(FitProbability, IsThatOfANormalBand) {
  const std::int64_t band = 22 << 10;
  EXPECT_NEAR(fit_probability(0, band), 0.5, 1e-12);
  EXPECT_NEAR(fit_probability(band, band), 0.975, 1e-6);
  EXPECT_NEAR(fit_probability(-band, band), 0.025, 1e-6);
  EXPECT_NEAR(fit_probability(margin_for(0.95, band), band), 0.95, 1e-4);
  EXPECT_EQ(margin_for(0.5, band), 0);
  EXPECT_EQ(fit_probability(0, 0), 1);  // an invented machine
  EXPECT_EQ(fit_probability(-1, 0), 0);
  EXPECT_EQ(margin_for(0.95, 0), 0);
}

// Code and temporaries are unsure independently.
TEST(FitProbability, ItsBandGrowsWithTheBoundOnTemporaries) {
  Calibration c;
  c.memory_band_bytes = 3000;
  c.temporary_band = 0.04;
  EXPECT_EQ(c.memory_band(Bytes(0)), 3000);
  EXPECT_EQ(c.memory_band(Bytes(100'000)), 5000);
}

}  // namespace
}  // namespace superstep
