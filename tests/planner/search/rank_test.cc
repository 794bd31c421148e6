// SPDX-License-Identifier: Apache-2.0
#include "planner/search/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/cuts/search_budget.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

// Two stages with everything in the processor: few enough cuts to try them all.
nlohmann::json two_stages() {
  const char* here = "in_processor";
  return test::small_gpt(
      {{"pipeline_stages", 2},
       {"available_memory_proportion", 0.25},
       {"prefetch_depth", 1},
       {"location", {{"weights", here}, {"gradients", here}, {"optimizer_state", here}, {"activations", here}}},
       {"replicated_tensor_sharding", {{"weights", 1}, {"gradients", 1}}}});
}

// Every way to say per stage what is recomputed.
std::vector<std::vector<Recompute>> all_modes(std::size_t stages) {
  std::vector<std::vector<Recompute>> all = {{}};
  for (std::size_t s = 0; s < stages; ++s) {
    std::vector<std::vector<Recompute>> longer;
    for (const auto& begun : all) {
      for (Recompute m : {Recompute::none, Recompute::layer, Recompute::stage}) {
        longer.push_back(begun);
        longer.back().push_back(m);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// Every plan of the world's settings that fits: the fastest rate of each kind in each cell; 0 where none fits.
std::vector<double> fastest_of_each_kind(World& world) {
  std::vector<double> rates;
  for (const Cell& cell : cells(world.job)) {
    std::map<std::string, double> kinds;
    for (const Plan& plan : settings(world.job, cell, false)) {
      const auto units = static_cast<std::int64_t>(world.table(plan).units());
      std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> cuts;
      for (std::int64_t a = 1; a < units; ++a) {
        cuts.push_back({{0, a}, {0, 1}});
        for (std::int64_t b = a + 1; b < units; ++b) cuts.push_back({{0, a, b}, {0, 1, 0}});
      }
      double& best = kinds[kind_of(plan)];
      for (const auto& [stages, ipus] : cuts) {
        for (const auto& modes : all_modes(stages.size())) {
          Plan p = plan;
          p.stages = stages, p.stage_ipu = ipus, p.recompute = modes;
          if (!world.problem(p).empty()) continue;
          const Setting setting(world.table(p), p, world.job.optimizer, false);
          const Estimate e = evaluate(setting, p);
          if (!e.fits(setting)) continue;
          best = std::max(best, static_cast<double>(p.global_batch()) / world.model.seconds(Cycles(e.cycles)).value);
        }
      }
    }
    for (const auto& [kind, best] : kinds) rates.push_back(best);
  }
  return rates;
}

TEST(Rank, CountsWhatBruteForceCounts) {
  World world(two_stages());
  const std::vector<double> rates = fastest_of_each_kind(world);
  ASSERT_GT(rates.size(), 10u);
  // Plans of all speeds: equal layers on both IPUs in every setting.
  std::set<double> counts;
  for (const Cell& cell : cells(world.job)) {
    for (Plan plan : settings(world.job, cell, false)) {
      plan.stages = {0, 4}, plan.stage_ipu = {0, 1}, plan.recompute = {Recompute::layer, Recompute::layer};
      if (!world.problem(plan).empty()) continue;
      const Rank r = rank(world.tables, plan, {});
      EXPECT_TRUE(r.exact()) << label(plan);
      EXPECT_EQ(r.of, static_cast<double>(rates.size()));
      const auto faster = std::count_if(rates.begin(), rates.end(),
                                        [&](double rate) { return rate > r.samples_per_second * (1 + 1e-9); });
      EXPECT_EQ(r.faster, static_cast<double>(faster)) << label(plan);
      counts.insert(r.faster);
    }
  }
  EXPECT_GT(counts.size(), 5u);  // the plans tried are not all alike
}

TEST(Rank, NothingIsFasterThanTheBest) {
  World world(test::small_gpt({}));
  SearchOptions options;
  options.pareto = options.find_fix = false;
  const SearchResult found = search(world.tables, options);
  ASSERT_FALSE(found.best.empty());
  const Rank best = rank(world.tables, found.best[0].plan, {});
  EXPECT_EQ(best.faster, 0);
  EXPECT_DOUBLE_EQ(best.samples_per_second, found.best[0].samples_per_second);
  ASSERT_GT(found.best.size(), 1u);
  EXPECT_GE(rank(world.tables, found.best.back().plan, {}).faster, static_cast<double>(found.best.size() - 1));
}

TEST(Rank, SaysWhatTimeDidNotAllowToDecide) {
  World world(test::small_gpt({}));
  SearchOptions options;
  options.pareto = options.find_fix = false;
  const Plan best = search(world.tables, options).best.at(0).plan;
  Plan slow = best;
  slow.replicas = 1, slow.gradient_accumulation *= best.replicas;
  SearchOptions at_once;
  at_once.time_limit = 1e-9;
  const Rank r = rank(world.tables, slow, at_once);
  EXPECT_FALSE(r.exact());
  EXPECT_LE(r.faster + r.undecided, r.of);
}

TEST(Rank, TheFreeJobAsksTheSameQuestion) {
  nlohmann::json job = two_stages();
  EXPECT_FALSE(free_job(World(job).job).contains("plan"));
  job["plan"]["precision"] = {{"first_moment", "fp16"}};
  nlohmann::json expected = job;
  expected["plan"] = {{"precision", {{"first_moment", "fp16"}}}};
  EXPECT_EQ(free_job(World(job).job), expected);
}

// A limit of programmes leaves the rest undecided, and the same rest for any number of threads.
TEST(Rank, ALimitOfProgrammesIsDeterministic) {
  World pinned(two_stages());
  Cell cell = cells(pinned.job).front();
  Plan plan = settings(pinned.job, cell, false).front();
  plan.stages = {0, 4}, plan.stage_ipu = {0, 1}, plan.recompute = {Recompute::stage, Recompute::stage};
  const auto rank_with = [&](std::int64_t limit, int threads) {
    World world(free_job(pinned.job));
    SearchOptions options;
    options.work_limit = limit * kBudget.programme_work;
    options.threads = threads;
    return rank(world.tables, plan, options);
  };
  const Rank whole = rank_with(0, 2), one = rank_with(20, 1), two = rank_with(20, 2);
  EXPECT_GT(one.undecided, 0);
  EXPECT_EQ(one.undecided, two.undecided);
  EXPECT_EQ(one.faster, two.faster);
  EXPECT_LT(one.faster, whole.faster);
  EXPECT_LE(whole.faster, one.faster + one.undecided);
  EXPECT_EQ(one.of, whole.of);
}

}  // namespace
}  // namespace superstep
