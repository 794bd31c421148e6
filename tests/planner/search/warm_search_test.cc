// SPDX-License-Identifier: Apache-2.0
// Jobs that share tables with a wider job: their answers are those of fresh tables.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/job/pins.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

SearchResult best_of(Tables& tables) { return search(tables, {.top = 1, .pareto = false, .find_fix = false}); }

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

TEST(WarmSearch, AnswersNarrowerJobsAsFreshTablesDo) {
  const json free = test::small_gpt({{"io_tiles", {0, 64}}, {"prefetch_depth", {1, 4}}});
  World world(free);
  const SearchResult best = best_of(world.tables);
  ASSERT_TRUE(best.stats.optimal);
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
  }
}

// A question for more than there is leaves later answers as they are.
TEST(WarmSearch, AnswersAfterAQuestionThatNothingMeets) {
  const json free = test::small_gpt({});
  const double best = best_of(free).best.at(0).samples_per_second;
  for (const double times : {0.9, 1.0, 1.1, 100.0}) {
    World world(free);
    SearchOptions options;
    options.top = 1;
    options.pareto = options.find_fix = false;
    options.at_least = times * best;
    search(world.tables, options);
    EXPECT_EQ(best_of(world.tables).best.at(0).samples_per_second, best) << times;
    Tables narrow(read_job(with_pins(free, {{"recompute", "layer"}}), "job"), world.tables);
    EXPECT_FALSE(best_of(narrow).best.empty()) << times;
  }
}

}  // namespace
}  // namespace superstep
