// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "model/error.h"
#include "planner/cuts/search_budget.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/job/pins.h"
#include "planner/report/evaluated.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::searched;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Search, ExploresOrPrunesEverySetting) {
  World world(test::small_gpt({}));
  double all = 0;
  for (const Cell& cell : cells(world.job)) all += cell.all_settings();
  const SearchResult r = searched(world);
  EXPECT_EQ(r.stats.explored + r.stats.pruned, all);
  EXPECT_LE(r.stats.feasible, r.stats.explored);
  EXPECT_TRUE(r.stats.optimal);
  EXPECT_EQ(r.stats.gap, 0);
  ASSERT_FALSE(r.best.empty());
  for (std::size_t i = 1; i < r.best.size(); ++i)
    EXPECT_GE(r.best[i - 1].samples_per_second, r.best[i].samples_per_second);
}

// A bound on temporary memory that is not pinned is as good as any that could be.
TEST(Search, TakesTheBestBoundOnTemporaryMemory) {
  nlohmann::json pins = {{"pipeline_stages", 1}, {"micro_batch", 8}, {"replicas", 4}};
  nlohmann::json job = test::small_gpt(pins);
  job["model"]["sequence_length"] = 512;
  job["model"]["vocabulary"] = 20000;
  World free(job);
  const SearchResult best = searched(free);
  ASSERT_FALSE(best.best.empty());
  EXPECT_TRUE(best.stats.optimal);
  double fastest = 0;
  std::set<double> rates;
  for (int k = 0; k < 40; ++k) {
    job["plan"]["available_memory_proportion"] = 0.05 + 0.02 * k;
    World pinned(job);
    const SearchResult r = searched(pinned, false);
    rates.insert(r.best.empty() ? 0 : r.best[0].samples_per_second);
    fastest = std::max(fastest, *rates.rbegin());
  }
  EXPECT_GT(rates.size(), 5u);
  EXPECT_GE(best.best[0].samples_per_second, fastest);
  job["plan"]["available_memory_proportion"] = to_json(best.best[0].plan.available_memory_proportion);
  World same(job);
  EXPECT_EQ(searched(same).best[0].samples_per_second, best.best[0].samples_per_second);
}

TEST(Search, EveryCandidateIsLegalAndFits) {
  World world(test::small_gpt({}));
  for (const Candidate& c : searched(world).best) {
    EXPECT_EQ(world.problem(c.plan), "");
    EXPECT_EQ(c.plan.global_batch(), 32);
    EXPECT_NE(evaluate_in_full(world.tables, c.plan).fits, "does_not_fit") << label(c.plan);
  }
}

// Whole weights leave no room for the optimizer's state beside them.
TEST(Search, GathersWeightsWhereWholeOnesDoNotFit) {
  nlohmann::json job = {{"model",
                         {{"zoo", "gpt2-small"},
                          {"layers", 4},
                          {"hidden", 2048},
                          {"heads", 16},
                          {"ffn", 8192},
                          {"vocabulary", 8000},
                          {"sequence_length", 128}}},
                        {"machine", "ipu-pod4"},
                        {"optimizer", {{"kind", "adam"}}},
                        {"batch", {{"global", 32}}},
                        {"plan",
                         {{"tensor_parallel", 1},
                          {"pipeline_stages", 1},
                          {"micro_batch", 1},
                          {"phases", 1},
                          {"available_memory_proportion", 0.2},
                          {"recompute", "layer"},
                          {"location", {{"optimizer_state", "in_processor"}}}}}};
  World free(job);
  const SearchResult r = searched(free, false);
  ASSERT_FALSE(r.best.empty());
  EXPECT_GT(r.best[0].plan.replicated_tensor_sharding.weights, 1);
  job["plan"]["replicated_tensor_sharding"] = {{"weights", 1}};
  World whole(job);
  EXPECT_TRUE(searched(whole, false).best.empty());
  job["plan"]["replicated_tensor_sharding"] = {{"weights", {{"min", 2}}}};
  const Job ranged = World(job).job;  // a range is searched where only pinned fields vary, too
  EXPECT_GT(count_settings(ranged, cells(ranged).at(0), true)[std::size_t(Execution::gathering_pipeline)], 0);
}

TEST(Search, GivesTheSameTwice) {
  World a(test::small_gpt({})), b(test::small_gpt({}));
  const SearchResult x = searched(a), y = searched(b);
  ASSERT_EQ(x.best.size(), y.best.size());
  for (std::size_t i = 0; i < x.best.size(); ++i) {
    EXPECT_EQ(to_json(x.best[i].plan), to_json(y.best[i].plan));
    EXPECT_EQ(x.best[i].estimate.cycles, y.best[i].estimate.cycles);
  }
}

// A trace holds the proof: every node comes from a node before it and is bounded no higher, every plan that becomes the
// best is within the bound of its leaf, and when runners-up are looked for no node is left above the best plan.
TEST(Search, TraceHoldsTheProof) {
  const auto traced = [](int threads, std::vector<SearchStep>& steps) {
    World world(test::small_gpt({}));
    SearchOptions options;
    options.pareto = false;
    options.threads = threads;
    options.trace = [&](const SearchStep& step) { steps.push_back(step); };
    return score(world.job, search(world.tables, options).best.at(0));
  };
  std::vector<SearchStep> steps, again;
  const double best = traced(1, steps);
  EXPECT_EQ(traced(2, again), best);
  ASSERT_EQ(steps.size(), again.size());
  ASSERT_FALSE(steps.empty());
  std::map<std::size_t, double> bounds;  // of nodes that may be taken again, or have children
  double incumbent = 0;
  bool proved = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SearchStep& s = steps[i];
    EXPECT_EQ(
        std::tie(s.node, s.parent, s.name, s.outcome, s.bound, s.incumbent),
        std::tie(again[i].node, again[i].parent, again[i].name, again[i].outcome, again[i].bound, again[i].incumbent));
    if (s.parent) {
      ASSERT_TRUE(bounds.contains(*s.parent)) << i;
      EXPECT_LE(s.bound, bounds[*s.parent]) << i;
    }
    if (bounds.contains(s.node)) {
      EXPECT_LE(s.bound, bounds[s.node]) << i;
    }
    if (s.outcome == "cut: a new best plan") {
      EXPECT_GT(s.incumbent, incumbent) << i;
      EXPECT_LE(s.incumbent, s.bound * (1 + 1e-12)) << i;
    }
    EXPECT_GE(s.incumbent, incumbent) << i;
    if (!s.for_best && !proved) {
      proved = true;
      EXPECT_EQ(incumbent, best);
    }
    EXPECT_TRUE(!proved || !s.for_best) << "the best plan is proved once";
    incumbent = s.incumbent;
    bounds[s.node] = s.bound;
  }
  EXPECT_EQ(incumbent, best);
}

// Inference has no optimizer whose state would have to be outside of the processor.
TEST(Search, OffersPhasesForInference) {
  nlohmann::json job = test::small_gpt({{"phases", 2}, {"available_memory_proportion", 0.25}});
  job["task"] = "inference";
  job.erase("optimizer");
  World world(job);
  const SearchResult r = searched(world, false);
  ASSERT_FALSE(r.best.empty());
  EXPECT_EQ(r.best[0].plan.phases.size(), 2u);
  EXPECT_EQ(world.problem(r.best[0].plan), "");
  // The plan can be pinned as it is printed.
  job["plan"] = to_json(r.best[0].plan);
  World pinned(job);
  EXPECT_EQ(searched(pinned, false).best.at(0).estimate.cycles, r.best[0].estimate.cycles);
}

// Weights outside of the processor come with phases, also where nothing but their place is pinned.
TEST(Search, WeightsOutsideAreOfPhases) {
  for (const nlohmann::json& places : std::vector<nlohmann::json>{"streaming", {"streaming", "in_processor"}}) {
    World world(test::small_gpt({{"location", {{"weights", places}}}}));
    std::int64_t inside = 0, outside = 0;
    for (const Cell& cell : cells(world.job)) {
      for (const Plan& p : settings(world.job, cell, false)) {
        if (p.location.weights == Location::in_processor) {
          ++inside;
          continue;
        }
        ++outside;
        EXPECT_NE(p.location.optimizer_state, Location::in_processor);
      }
    }
    for (const Cell& cell : cells(world.job, 0, true)) EXPECT_FALSE(settings(world.job, cell, true).empty());
    EXPECT_EQ(inside > 0, places.is_array());
    EXPECT_GT(outside, 0);
  }
}

TEST(Search, DefaultsAreOneSettingPerCell) {
  World world(test::small_gpt({{"pipeline_stages", 2}, {"replicas", 2}, {"micro_batch", 1}}));
  for (const Cell& cell : cells(world.job)) EXPECT_EQ(settings(world.job, cell, true).size(), 1u);
}

// Sharded weights are updated where they are, so the default of optimizer_state follows that of weights.
TEST(Search, DefaultsOfPhasesWithReplicasAreLegal) {
  const nlohmann::json degrees = {
      {"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 4}, {"micro_batch", 1}, {"phases", 4}};
  for (const nlohmann::json& sharding : std::vector<nlohmann::json>{{}, {{"weights", 2}}, {{"optimizer_state", 2}}}) {
    nlohmann::json plan = degrees;
    if (!sharding.is_null()) plan["replicated_tensor_sharding"] = sharding;
    World world(test::small_gpt(plan));
    const Evaluated e = evaluate_pinned(world.tables, 1);
    const ReplicatedTensorSharding& rts = e.plan.replicated_tensor_sharding;
    EXPECT_EQ(e.plan.phases.size(), 4u);
    EXPECT_EQ(rts.weights, sharding.is_null() ? 4 : 2) << sharding;
    EXPECT_EQ(rts.optimizer_state, sharding.is_null() ? 4 : 2) << sharding;
    EXPECT_EQ(world.problem(e.plan), "");
  }
}

TEST(Search, SaysWhichDegreesDoNotGoTogether) {
  World world(test::small_gpt({{"tensor_parallel", 1},
                               {"pipeline_stages", 1},
                               {"replicas", 4},
                               {"phases", 4},
                               {"replicated_tensor_sharding", {{"weights", 4}, {"optimizer_state", 1}}}}));
  const SearchResult r = searched(world, false);
  ASSERT_FALSE(r.overflows.empty());
  EXPECT_THAT(r.overflows[0].detail, testing::HasSubstr("optimizer_state 1 is not a multiple of weights 4"));
}

// 24 IPUs and 96 heads in threes; 30 layers over 7 stages.
TEST(Search, CountsNeedNotBePowersOfTwo) {
  const auto best_of = [](const nlohmann::json& model, std::int64_t ipus, std::int64_t per_machine, std::int64_t batch,
                          const nlohmann::json& plan) {
    nlohmann::json machine = {{"base", "ipu-pod64"}};
    machine["override"] = {{"ipus", {{"value", ipus}, {"source", "invented"}}},
                           {"ipus_per_machine", {{"value", per_machine}, {"source", "invented"}}}};
    nlohmann::json job = test::small_job("gpt2-small", model, machine);
    job["batch"] = {{"global", batch}};
    job["plan"] = plan;
    World world(job);
    const SearchResult r = search(world.tables, {.top = 1, .pareto = false});
    EXPECT_TRUE(r.stats.optimal);
    EXPECT_EQ(r.best.size(), 1);
    return r.best.at(0).plan;
  };
  const nlohmann::json heads = {{"layers", 1}, {"hidden", 192}, {"heads", 96}, {"vocabulary", 480}},
                       layers = {{"layers", 30}, {"hidden", 64}, {"heads", 4}, {"vocabulary", 500}};
  const Plan thirds = best_of(heads, 24, 4, 24, {{"tensor_parallel", 3}});
  EXPECT_EQ(thirds.tensor_parallel.size(), 3);
  EXPECT_EQ(thirds.tensor_parallel.size() * thirds.pipeline_stages * thirds.replicas, 24);
  const Plan sevenths = best_of(layers, 7, 1, 14, {{"pipeline_stages", 7}, {"micro_batch", 1}, {"phases", 1}});
  EXPECT_GE(sevenths.stages.size(), 7);
}

// Every field pinned: one plan is all there is.
TEST(Search, OnePlanIsTheBest) {
  nlohmann::json job = test::small_gpt({});
  World free(job);
  const SearchResult all = searched(free);
  job["plan"] = to_json(all.best.at(0).plan);
  World world(job);
  const SearchResult one = search(world.tables, {});
  ASSERT_EQ(one.best.size(), 1);
  EXPECT_TRUE(one.stats.optimal);
  EXPECT_EQ(one.best[0].estimate.cycles, all.best[0].estimate.cycles);
  EXPECT_EQ(one.stats.explored + one.stats.pruned, 1);
}

TEST(Search, StopsWhenTold) {
  World world(test::small_gpt({}));
  SearchOptions options;
  std::atomic<int> asked = 0;
  options.stop = [&] { return ++asked > 20; };
  EXPECT_THROW(search(world.tables, options), Stopped);
  // What is tabulated by then serves the next search, which gives what a first one gives.
  World cold(test::small_gpt({}));
  const SearchResult warm = searched(world), first = searched(cold);
  ASSERT_FALSE(warm.best.empty());
  EXPECT_EQ(to_json(warm.best[0].plan), to_json(first.best[0].plan));
  EXPECT_EQ(warm.best[0].estimate.cycles, first.best[0].estimate.cycles);
}

// A search that is stopped while it looks for runners-up has proved the best plan, and says so.
TEST(Search, ProvesTheBestPlanBeforeItsRunnersUp) {
  World world(test::small_bert(3));
  const SearchResult all = searched(world);
  int proved = 0, open = 0;
  for (std::int64_t limit = 1; limit < all.stats.programmes; limit = limit * 9 / 8 + 1) {
    SearchOptions options{.work_limit = limit * kBudget.programme_work, .pareto = false};
    const SearchResult r = search(world.tables, options);
    if (r.stats.stopped)  // else the last of its work came to the limit
      EXPECT_THAT(left_notes(r.stats), ElementsAre(HasSubstr(r.stats.optimal ? "all runners-up" : "stopped early")));
    else
      EXPECT_THAT(left_notes(r.stats), IsEmpty());
    if (!r.stats.optimal) {
      ++open;
      continue;
    }
    proved += r.stats.stopped ? 1 : 0;
    ASSERT_FALSE(r.best.empty());
    EXPECT_EQ(r.stats.gap, 0);
    EXPECT_EQ(r.best[0].estimate.cycles, all.best[0].estimate.cycles) << "after " << limit << " programmes";
  }
  EXPECT_GT(proved, 0);
  EXPECT_GT(open, 0);
  EXPECT_FALSE(all.stats.stopped);
  EXPECT_THAT(left_notes(all.stats), IsEmpty());
}

// Phases have a plan before anything is cut but guesses, whatever is pinned; it is one of the space.
TEST(Search, GuessesAFirstPlanOfPhases) {
  const auto with = [](nlohmann::json pins) {
    pins["location"]["weights"] = "streaming";
    return pins;
  };
  for (const nlohmann::json& pins :
       {with({}), with({{"pipeline_stages", 2}}), with({{"location", {{"activations", "remote_ipu"}}}}),
        with({{"replicated_tensor_sharding", {{"weights", 1}}}}), with({{"recompute", "layer"}, {"io_tiles", 32}})}) {
    World world(test::small_gpt(pins));
    const SearchResult first = search(world.tables, {.work_limit = 1, .pareto = false}), all = searched(world);
    ASSERT_FALSE(first.best.empty()) << pins;
    EXPECT_FALSE(first.stats.optimal);
    EXPECT_TRUE(first.best[0].fits);
    EXPECT_THAT(unsatisfied_pins(first.best[0].plan, pins), IsEmpty()) << label(first.best[0].plan);
    EXPECT_GE(first.best[0].estimate.cycles, all.best[0].estimate.cycles);
    EXPECT_LE(first.stats.bound * (1 - first.stats.gap), all.stats.best * (1 + 1e-9));
    EXPECT_GE(first.stats.bound, all.stats.best);
  }
}

TEST(Search, SaysWhatItLeavesOut) {
  EXPECT_THAT(left_notes({.best = 1, .gap = 0.1}), ElementsAre(HasSubstr("not proved optimal")));
  EXPECT_THAT(left_notes({.kinds_left = 1, .best = 1}), ElementsAre(HasSubstr("of 1 kind of plan")));
  EXPECT_THAT(left_notes({.points_left = 2, .best = 1}), ElementsAre(HasSubstr("2 points")));
  EXPECT_THAT(left_notes({.kinds_left = 1}), IsEmpty());
}

TEST(Search, FindsTheBestPlanWithoutWorkOnRunnersUp) {
  World world(test::small_bert(3));
  const SearchResult all = searched(world);
  SearchSteps steps(world.tables, {.pareto = false});
  steps.prepare();
  steps.find_best();
  const SearchResult best = steps.result();
  EXPECT_TRUE(best.stats.optimal);
  ASSERT_FALSE(best.best.empty());
  EXPECT_EQ(label(best.best[0].plan), label(all.best[0].plan));
  EXPECT_LT(best.stats.programmes, all.stats.programmes);
}

// However many are asked for.
TEST(Search, FindsTheBestPlanWithTheSameWorkForMoreRunnersUp) {
  World world(nlohmann::json{{"model", {{"zoo", "gpt2-small"}, {"layers", 4}}},
                             {"machine", "ipu-pod16"},
                             {"batch", {{"global", 32}}},
                             {"task", "training"},
                             {"optimizer", {{"kind", "adam"}}}});
  std::vector<SearchResult> found;
  for (const int top : {1, 20}) {
    SearchSteps steps(world.tables, {.top = top, .pareto = false});
    steps.prepare();
    steps.find_best();
    found.push_back(steps.result());
    ASSERT_FALSE(found.back().best.empty());
  }
  EXPECT_EQ(label(found[0].best[0].plan), label(found[1].best[0].plan));
  EXPECT_EQ(found[0].stats.programmes, found[1].stats.programmes);
  EXPECT_EQ(found[0].candidates.size(), found[1].candidates.size());
}

// A cell's bound has to hold for its settings with activations sharded throughout, and for those with one micro-batch,
// which accumulates nothing: more runners-up open more cells, and must not find a faster plan.
TEST(Search, MoreRunnersUpFindNothingFaster) {
  for (const char* memory : {"48 KiB", "64 KiB"}) {
    for (const char* rate : {"1 MB/s", "2 MB/s"}) {
      nlohmann::json job =
          nlohmann::json::parse(std::ifstream(std::string(SUPERSTEP_SOURCE) + "/data/jobs/toy-free.json"));
      job["machine"]["override"]["chip"]["tile_memory"] = memory;
      job["machine"]["override"]["links"]["rate"] = rate;
      job["plan"]["replicas"] = 1;
      World world(job);
      const SearchResult few = search(world.tables, {.top = 1, .pareto = false, .find_fix = false});
      const SearchResult many = search(world.tables, {.top = 20, .pareto = false, .find_fix = false});
      ASSERT_EQ(few.best.empty(), many.best.empty());
      if (few.best.empty()) continue;
      EXPECT_EQ(few.best[0].samples_per_second, many.best[0].samples_per_second) << memory << " " << rate;
    }
  }
}

}  // namespace
}  // namespace superstep
