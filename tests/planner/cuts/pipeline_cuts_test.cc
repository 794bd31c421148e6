// SPDX-License-Identifier: Apache-2.0
// The cut programme for pipelines against every cut there is.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/cuts/cuts.h"
#include "tests/planner/cut_options.h"

namespace superstep::test {
namespace {

// Which of equally fast cuts is found must not depend on what else is known.
void expect_the_same_whatever_is_known(const Setting& setting, const CutRules& rules, CutLimits limits) {
  limits.best = INT64_MAX;
  const std::optional<Cuts> any = cut_pipeline(setting, rules, limits);
  if (!any) return;
  limits.best = any->cycles + 1;
  const std::optional<Cuts> found = cut_pipeline(setting, rules, limits);
  ASSERT_TRUE(found) << describe(setting, limits);
  EXPECT_EQ(found->stages, any->stages) << describe(setting, limits);
  EXPECT_EQ(found->recompute, any->recompute) << describe(setting, limits);
}

const std::vector<Recompute> kAllModes = {Recompute::none, Recompute::layer, Recompute::stage};

void try_pipelines_of(const std::vector<nlohmann::json>& jobs, Location stash, std::uint64_t seed) {
  Draw draw(seed);
  int limits_tried = 0;
  for (const auto& job : jobs) {
    World world(job);
    for (int k = 0; k < 24; ++k) {
      Plan plan = draw_pipeline(world, draw);
      plan.tensor_parallel = {1, 1};
      plan.pipeline_stages = 1 + draw.below(4);
      plan.replicas = 4;
      plan.replicated_tensor_sharding = {draw.of<std::int64_t>({1, 4}), draw.of<std::int64_t>({1, 4}), 4};
      plan.schedule = std::vector<Schedule>{Schedule::grouped, Schedule::interleaved, Schedule::sequential}[k % 3];
      const bool wrap = plan.pipeline_stages > 1 && draw.chance(50);
      const std::int64_t stages = plan.pipeline_stages + (wrap ? 1 : 0);
      if (stages > std::ssize(world.tables.facts(1).graph.units)) continue;
      plan.gradient_accumulation = std::max(plan.gradient_accumulation, 2 * stages - 1);
      plan.location.activations = stash;
      const Setting setting(world.table(plan), plan, world.job.optimizer, false);
      CutRules rules;
      rules.wrap = wrap;
      if (draw.chance(30)) rules.modes = {draw.of(kAllModes)};
      const std::vector<Option> options = all_options(setting, rules, false);
      for (int i = 0; i < 6; ++i, ++limits_tried) {
        const CutLimits limits = draw_limits(options, setting, draw);
        expect_best(setting, options, limits, cut_pipeline(setting, rules, limits));
        expect_found_under_its_own_bound(options, limits,
                                         [&](const CutLimits& l) { return cut_pipeline(setting, rules, l); });
        expect_the_same_whatever_is_known(setting, rules, limits);
      }
    }
  }
  EXPECT_GE(limits_tried, 100 * std::ssize(jobs));
}

void try_pipelines(Location stash, std::uint64_t seed) {
  try_pipelines_of({tiny("gpt2-small", 2, 128, 4000), tiny("bert-base", 1, 256, 500), tiny("bert-base", 2, 64, 9000)},
                   stash, seed);
}

TEST(Cuts, OfPipelinesAreTheBestOfAll) {
  for (std::uint64_t seed : {11, 12, 13}) try_pipelines(Location::in_processor, seed);
}

// Keeping everything can then be slower than running it again.
TEST(Cuts, OfPipelinesWithAStashElsewhereAreTheBestOfAll) {
  for (std::uint64_t seed : {12, 14}) try_pipelines(Location::streaming, seed);
  try_pipelines(Location::remote_machine, 15);
  try_pipelines(Location::remote_ipu, 16);
}

// From as few micro-batches as a pipeline may have, where fill and drain are most of it, to many.
TEST(Cuts, OfPipelinesWithFewMicroBatchesAreTheBestOfAll) {
  for (std::uint64_t seed : {17, 18, 19, 20}) try_pipelines(Location::in_processor, seed);
  try_pipelines(Location::streaming, 21);
}

// The embedding is the decoder's and the head's too: gradients and new values move where a stage of another IPU has it.
TEST(Cuts, OfPipelinesThatShareAWeightAreTheBestOfAll) {
  const nlohmann::json machine = {{"base", "ipu-pod16"}, {"override", {{"links", {{"rate", "1 GB/s"}}}}}};
  try_pipelines_of({tiny("t5-small", 1, 64, 9000, machine)}, Location::in_processor, 22);
  try_pipelines_of({tiny("t5-small", 1, 128, 500, machine)}, Location::streaming, 23);
}

TEST(Cuts, OfPipelinesHonourPinnedStages) {
  World world(tiny("gpt2-small", 2, 128, 4000));
  Plan plan;
  plan.pipeline_stages = 3;
  plan.replicas = 5;
  plan.gradient_accumulation = 16;
  const Setting setting(world.table(plan), plan, world.job.optimizer, false);
  const std::vector<std::int64_t> stages = {0, 2, 5};
  CutRules rules;
  rules.stages = &stages;
  CutLimits limits;
  limits.tile = setting.limit(), limits.executable = setting.executable_limit(), limits.io_tile = setting.limit();
  limits.ddr = setting.ddr_limit();
  const std::optional<Cuts> found = cut_pipeline(setting, rules, limits);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stages, stages);
}

TEST(Cuts, OfPipelinesAreTheBestSoFarAtTheDeadline) {
  for (const bool wrap : {false, true}) {
    World world(tiny("gpt2-small", 12, 128, 4000));
    Plan plan;
    plan.pipeline_stages = 4;
    plan.replicas = 4;
    plan.gradient_accumulation = 16;
    const Setting setting(world.table(plan), plan, world.job.optimizer, false);
    CutRules rules;
    rules.wrap = wrap;
    CutLimits limits;
    limits.tile = setting.limit(), limits.executable = setting.executable_limit(), limits.io_tile = setting.limit();
    limits.ddr = setting.ddr_limit();
    std::int64_t open = INT64_MAX;
    const std::optional<Cuts> best = cut_pipeline(setting, rules, limits, &open);
    ASSERT_TRUE(best);
    EXPECT_EQ(open, INT64_MAX);
    limits.deadline = std::chrono::steady_clock::time_point::min();
    const std::optional<Cuts> found = cut_pipeline(setting, rules, limits, &open);
    EXPECT_GT(open, 0);
    EXPECT_LE(open, best->cycles);
    ASSERT_TRUE(found);
    EXPECT_GE(found->cycles, best->cycles);
    EXPECT_EQ(std::ssize(found->stages), wrap ? 5 : 4);
    limits.best = best->cycles;  // what the other may not beat either
    EXPECT_FALSE(cut_pipeline(setting, rules, limits, &open));
  }
}

}  // namespace
}  // namespace superstep::test
