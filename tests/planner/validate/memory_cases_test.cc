// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/memory_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/validate/recommend.h"

namespace superstep {
namespace {

MemoryCase on_toy(bool ran, std::int64_t micro_batch) {
  MemoryCase c;
  c.id = "toy";
  c.ran = ran;
  c.job_file = "cases.json";
  c.job_place = "#/memory_cases/0/job";
  c.job = {{"model",
            {{"zoo", "gpt2-small"},
             {"layers", 1},
             {"hidden", 16},
             {"heads", 2},
             {"ffn", 32},
             {"vocabulary", 32},
             {"sequence_length", 4},
             {"positions", 4}}},
           {"machine", {{"base", "toy"}, {"partition", 1}}},
           {"task", "inference"},
           {"plan", {{"replicas", 1}, {"micro_batch", micro_batch}, {"gradient_accumulation", 1}}}};
  return c;
}

TEST(MemoryCases, AreRightIfWhatHappenedIsWhatTheModelSays) {
  const std::vector<JudgedCase> cases =
      judge_memory({on_toy(true, 1), on_toy(false, 1), on_toy(true, 4096), on_toy(false, 4096)}, {});
  EXPECT_TRUE(cases[0].is_right());
  EXPECT_FALSE(cases[1].is_right());
  EXPECT_FALSE(cases[2].is_right());
  EXPECT_TRUE(cases[3].is_right());
  EXPECT_TRUE(cases[3].overflow.starts_with("tile memory on IPU 0")) << cases[3].overflow;
  EXPECT_GT(cases[3].tile_peak, cases[3].tile_limit);
  EXPECT_DOUBLE_EQ(brier_score(cases), 0.5);  // the toy has no band
  EXPECT_TRUE(std::isnan(brier_score({})));
}

TEST(MemoryCases, AJobThatCannotBeEstimatedFailsAlone) {
  MemoryCase wrong = on_toy(true, 1);
  wrong.job["model"]["zoo"] = "gtp2";
  const std::vector<JudgedCase> cases = judge_memory({wrong, on_toy(true, 1)}, {});
  EXPECT_TRUE(cases[0].failure.starts_with("cases.json#/memory_cases/0/job/model/zoo: ")) << cases[0].failure;
  EXPECT_FALSE(cases[0].is_right());
  EXPECT_TRUE(cases[1].is_right());
}

// What the repository has: each miss is explained, and nothing else is.
TEST(MemoryCases, OfTheRepositoryAreMostlyRight) {
  const std::vector<JudgedCase> cases = judge_memory(load_published({published_folder()}).memory_cases, {});
  EXPECT_GE(cases.size(), 40u);
  EXPECT_GE(std::ranges::count_if(cases, [](const JudgedCase& c) { return !c.given.ran; }), 10);
  for (const JudgedCase& c : cases) {
    EXPECT_EQ(c.failure, "") << c.given.id;
    EXPECT_EQ(c.is_right(), c.given.miss.empty()) << c.given.id;
  }
  EXPECT_GE(std::ranges::count_if(cases, [](const JudgedCase& c) { return c.is_right(); }), 34);
  EXPECT_LT(brier_score(cases), 0.14);
}

Job throughput_job() {
  Job job;
  job.goal.objective = Objective::throughput;
  return job;
}

Evaluated plan(std::vector<double> worlds) {
  Evaluated e;
  e.plan.gradient_accumulation = 1;
  e.worlds = std::move(worlds);
  return e;
}

// Nothing is published of a job without a network of the zoo: the probability alone decides.
TEST(Recommend, ABetIsWorthItIfItIsSurelyBetter) {
  const Evaluated measured = plan(std::vector<double>(10, 1.0));
  EXPECT_TRUE(is_worth_the_bet(throughput_job(), plan({.5, .5, .5, .5, .5, .5, .5, .5, .5, 2}), measured));
  EXPECT_FALSE(is_worth_the_bet(throughput_job(), plan({.5, .5, .5, .5, .5, .5, .5, .5, 2, 2}), measured));
}

}  // namespace
}  // namespace superstep
