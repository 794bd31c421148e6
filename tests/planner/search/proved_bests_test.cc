// SPDX-License-Identifier: Apache-2.0
#include "planner/search/proved_bests.h"

#include <gtest/gtest.h>

#include "planner/infeasible/why_not.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

SearchResult best_of(Tables& tables) {
  return search(tables, {.top = 1, .pareto = false, .find_fix = false, .explain = false});
}

SearchResult best_of(const json& job) {
  World world(job);
  return best_of(world.tables);
}

// Values of fields one by one, of which any plan has some.
std::vector<json> pins() {
  std::vector<json> out;
  const auto add = [&](const std::string& field, const std::vector<json>& values) {
    for (const json& v : values) out.push_back({{field, v}});
  };
  add("pipeline_stages", {1, 2, 4, {{"max", 2}}});
  add("tensor_parallel", {1, 2, 4});
  add("replicas", {{{"min", 2}}, {1, 4}});
  add("micro_batch", {1, 2, 4, 8});
  add("schedule", {"grouped", "interleaved", "sequential"});
  add("recompute", {"none", "layer", "stage"});
  add("io_tiles", {0, 64});
  add("phases", {1, 2, 3, {1, 2}, {{"min", 3}}, {{"min", 2}, {"max", 3}}});
  add("phase_order", {"phase_outer", "micro_batch_outer"});
  add("prefetch_depth", {1, 4});
  add("available_memory_proportion", {0.05, {0.12, 0.25}});
  add("placement", {"t-p-r", "t-r-p"});
  add("activation_sharding", {"none", "stored", "throughout"});
  for (const char* tensor : {"weights", "gradients", "optimizer_state", "activations"}) {
    for (const char* place : {"in_processor", "streaming"}) out.push_back({{"location", {{tensor, place}}}});
    for (const int degree : {1, 2}) {
      if (tensor != std::string("activations")) out.push_back({{"replicated_tensor_sharding", {{tensor, degree}}}});
    }
  }
  return out;
}

// With tables on which a wider job was proved the answer is as good as with fresh ones, and needs no search where the
// best plan has what is pinned.
TEST(ProvedBests, AnswerNarrowerJobs) {
  const json free = test::small_gpt({{"io_tiles", {0, 64}}, {"prefetch_depth", {1, 4}}});
  World world(free);
  const SearchResult best = best_of(world.tables);
  ASSERT_TRUE(best.stats.optimal);
  int known = 0, searched = 0;
  for (const json& pin : pins()) {
    const json narrow = with_pins(free, pin);
    Tables warm(read_job(narrow, "job"), world.tables);
    const SearchResult r = best_of(warm), fresh = best_of(narrow);
    ASSERT_EQ(r.best.empty(), fresh.best.empty()) << pin;
    EXPECT_EQ(r.stats.explored + r.stats.pruned, fresh.stats.explored + fresh.stats.pruned) << pin;
    EXPECT_TRUE(r.stats.optimal) << pin;
    if (r.best.empty()) continue;
    EXPECT_EQ(r.best[0].estimate.cycles, fresh.best[0].estimate.cycles) << pin;
    if (pin.contains("schedule")) {
      EXPECT_EQ(to_json(r.best[0].plan).at("schedule"), to_json(fresh.best[0].plan).at("schedule")) << pin;
    }
    (r.stats.programmes == 0 ? known : searched) += 1;
    const bool has_it = pins_not_had(best.best[0].plan, pin).empty();  // but for fields without effect
    EXPECT_TRUE(has_it || r.stats.programmes > 0) << pin;
  }
  EXPECT_GE(known, 8);
  EXPECT_GE(searched, 8);
}

// Who asks for more than there is learns nothing of what there is.
TEST(ProvedBests, WhatIsNotGoodEnoughIsNoProof) {
  const json free = test::small_gpt({});
  const double best = best_of(free).best.at(0).samples_per_second;
  for (const double times : {0.9, 1.0, 1.1, 100.0}) {
    World world(free);
    SearchOptions options;
    options.top = 1;
    options.pareto = options.explain = options.find_fix = false;
    options.at_least = times * best;
    search(world.tables, options);
    EXPECT_EQ(best_of(world.tables).best.at(0).samples_per_second, best) << times;
    Tables narrow(read_job(with_pins(free, {{"recompute", "layer"}}), "job"), world.tables);
    EXPECT_FALSE(best_of(narrow).best.empty()) << times;
  }
}

TEST(ProvedBests, AJobIsWithinAnother) {
  const auto within = [](const json& narrow, const json& wide) {
    const Job job = read_job(narrow, "narrow"), other = read_job(wide, "wide");
    return JobPlans(job, cells(job)).is_within(JobPlans(other, cells(other)));
  };
  const auto gpt = [](const json& plan) { return test::small_gpt(plan); };
  const json free = gpt(json::object()), staged = gpt({{"pipeline_stages", {1, 2}}});
  EXPECT_TRUE(within(free, free));
  EXPECT_TRUE(within(staged, free));
  EXPECT_FALSE(within(free, staged));
  EXPECT_TRUE(within(gpt({{"pipeline_stages", 2}, {"prefetch_depth", 1}}), staged));
  EXPECT_FALSE(within(gpt({{"pipeline_stages", 4}}), staged));
  EXPECT_TRUE(within(gpt({{"replicated_tensor_sharding", {{"weights", 2}}}}), free));
  // What pins add to the space: IO tiles of pipelines, a large micro-batch.
  EXPECT_FALSE(within(gpt({{"io_tiles", 16}}), free));
  EXPECT_FALSE(within(gpt({{"prefetch_depth", 3}}), free));
  json other = free;
  other["batch"] = {{"global", 64}};
  EXPECT_FALSE(within(other, free));
  other = free;
  other["objective"] = "latency";
  EXPECT_FALSE(within(other, free));
  other = free;
  other["description"] = "the same";
  EXPECT_TRUE(within(other, free));
  EXPECT_TRUE(within(gpt({{"recompute", "layer"}}), free));
  EXPECT_FALSE(within(gpt({{"recompute", "layer"}}), gpt({{"recompute", "stage"}})));
  const auto phases = [&](const json& n) { return gpt({{"phases", n}}); };
  const json open = {{"min", 2}}, few = {{"min", 2}, {"max", 4}};
  for (const json& n : {json(2), json{3, 4}, few}) EXPECT_TRUE(within(phases(n), phases(open))) << n;
  for (const json& n : {json(5), json{2, 5}, json{1, 2}, open}) EXPECT_FALSE(within(phases(n), phases(few))) << n;
  EXPECT_TRUE(within(phases(open), free));
  EXPECT_FALSE(within(free, phases(open)));
  EXPECT_TRUE(within(phases({2, 3}), phases({3, 2, 1})));
}

}  // namespace
}  // namespace superstep
