// SPDX-License-Identifier: Apache-2.0
// What pins leave to a search.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/search/search.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::searched;
using test::World;

// No setting, cut with the plain defaults, beats the best.
TEST(Search, NoPinnedJobBeatsTheFreeOne) {
  World world(test::small_gpt({}));
  const double best = searched(world).best.at(0).samples_per_second;
  for (const nlohmann::json& plan :
       std::vector<nlohmann::json>{{{"pipeline_stages", 2}, {"replicas", 2}},
                                   {{"tensor_parallel", 2}},
                                   {{"schedule", "sequential"}},
                                   {{"micro_batch", 1}},
                                   {{"recompute", "layer"}},
                                   {{"location", {{"activations", "streaming"}}}},
                                   {{"phases", 2}, {"location", {{"weights", "streaming"}}}}}) {
    World pinned(test::small_gpt(plan));
    const SearchResult r = searched(pinned, false);
    if (!r.best.empty()) {
      EXPECT_LE(r.best[0].samples_per_second, best * 1.000001) << plan.dump();
    }
  }
}

struct Pin {
  nlohmann::json plan;
  std::function<bool(const Plan&)> holds;
};

TEST(Search, RespectsPins) {
  const auto one = [](std::int64_t v, const std::vector<std::int64_t>& of) {
    return std::find(of.begin(), of.end(), v) != of.end();
  };
  const std::vector<Pin> pins = {
      {{{"tensor_parallel", 2}}, [](const Plan& p) { return p.tensor_parallel.size() == 2; }},
      {{{"pipeline_stages", {1, 2}}},
       [&](const Plan& p) {
         return one(p.pipeline_stages, {1, 2});
       }},
      {{{"replicas", {{"min", 2}}}}, [](const Plan& p) { return p.replicas >= 2; }},
      {{{"micro_batch", {{"min", 2}, {"max", 4}}}},
       [](const Plan& p) { return p.micro_batch >= 2 && p.micro_batch <= 4; }},
      {{{"gradient_accumulation", {4, 8}}},
       [&](const Plan& p) {
         return one(p.gradient_accumulation, {4, 8});
       }},
      {{{"pipeline_stages", 2}, {"schedule", {"interleaved", "sequential"}}},
       [](const Plan& p) { return p.schedule != Schedule::grouped; }},
      {{{"pipeline_stages", 2}, {"stages", {0, 3}}},
       [](const Plan& p) {
         return p.stages == std::vector<std::int64_t>{0, 3};
       }},
      {{{"pipeline_stages", 2}, {"stages", {0, 3}}, {"available_memory_proportion", {{"stages", {0.1, 0.3}}}}},
       [](const Plan& p) {
         return p.stage_proportions == std::vector<Proportion>{0.1, 0.3};
       }},
      {{{"pipeline_stages", 2}, {"layers_per_stage", {1, 1}}},
       [](const Plan& p) {
         return p.stages == std::vector<std::int64_t>{0, 4};
       }},
      {{{"stages", {0, 3}}, {"phases", 1}},
       [](const Plan& p) {
         return p.pipeline_stages == 2 && p.stages == std::vector<std::int64_t>{0, 3};
       }},
      {{{"layers_per_stage", {1, 1, 0}}, {"phases", 1}},
       [](const Plan& p) { return p.pipeline_stages == 2 && p.stages.size() == 3; }},
      {{{"pipeline_stages", 2}, {"stages", {0, 3}}, {"stage_ipu", {1, 0}}},
       [](const Plan& p) {
         return p.stage_ipu == std::vector<std::int64_t>{1, 0};
       }},
      {{{"recompute", "stage"}},
       [](const Plan& p) {
         return std::all_of(p.recompute.begin(), p.recompute.end(), [](Recompute m) { return m == Recompute::stage; });
       }},
      {{{"pipeline_stages", 2}, {"stages", {0, 3}}, {"recompute", {"stage", "none"}}},
       [](const Plan& p) {
         return p.recompute == std::vector<Recompute>{Recompute::stage, Recompute::none};
       }},
      {{{"recompute", {"stage", "none"}}},
       [](const Plan& p) {
         return p.recompute == std::vector<Recompute>{Recompute::stage, Recompute::none};
       }},
      {{{"replicas", 4}, {"replicated_tensor_sharding", {{"optimizer_state", 4}}}},
       [](const Plan& p) { return p.replicated_tensor_sharding.optimizer_state == 4; }},
      {{{"replicas", 4}, {"replicated_tensor_sharding", {{"weights", 2}, {"optimizer_state", {2, 4}}}}},
       [](const Plan& p) { return p.replicated_tensor_sharding.weights == 2; }},
      {{{"replicas", 4}, {"phases", 1}, {"replicated_tensor_sharding", {{"weights", {{"min", 2}}}}}},
       [](const Plan& p) { return p.replicated_tensor_sharding.weights >= 2; }},
      {{{"location", {{"optimizer_state", "streaming"}}}},
       [](const Plan& p) { return p.location.optimizer_state == Location::streaming; }},
      {{{"location", {{"activations", {"streaming"}}}}},
       [](const Plan& p) { return p.location.activations == Location::streaming; }},
      {{{"location", {{"weights", {"in_processor", "streaming"}}}}, {"phases", 2}},
       [](const Plan& p) { return p.phases.size() == 2 && p.location.weights == Location::streaming; }},
      {{{"phases", 3}}, [](const Plan& p) { return p.phases.size() == 3; }},
      {{{"phases", 1}}, [](const Plan& p) { return p.phases.size() == 1; }},
      {{{"available_memory_proportion", {{"min", 0.1}, {"max", 0.15}}}},
       [](const Plan& p) {
         return p.available_memory_proportion.share >= 0.1 && p.available_memory_proportion.share <= 0.15;
       }},
      {{{"phases", {2, 4}}},
       [&](const Plan& p) {
         return one(std::ssize(p.phases), {2, 4});
       }},
      {{{"phases", {{"min", 3}}}}, [](const Plan& p) { return p.phases.size() >= 3; }},
      {{{"phases", {1, 3}}, {"location", {{"weights", "streaming"}}}},
       [](const Plan& p) { return p.phases.size() == 3; }},
      {{{"phases", 2}, {"phase_order", "micro_batch_outer"}},
       [](const Plan& p) { return p.phase_order == PhaseOrder::micro_batch_outer; }},
      {{{"phases", 2}, {"pipeline_stages", 2}, {"phase_groups", {{"min", 2}, {"max", 2}}}},
       [](const Plan& p) {
         return p.phase_groups == 2 && p.stage_ipu == std::vector<std::int64_t>{0, 1};
       }},
      {{{"phases", 2}, {"io_tiles", {32, 64}}},
       [&](const Plan& p) {
         return one(p.io_tiles, {32, 64});
       }},
      {{{"io_tiles", {{"min", 32}}}}, [](const Plan& p) { return p.io_tiles >= 32; }},
      {{{"prefetch_depth", 3}}, [](const Plan& p) { return p.prefetch_depth == 3; }},
      {{{"available_memory_proportion", {0.3, 0.4}}},
       [](const Plan& p) { return p.available_memory_proportion == 0.3 || p.available_memory_proportion == 0.4; }},
      {{{"precision", {{"partials", "fp32"}, {"accumulators", "fp32"}}}},
       [](const Plan& p) { return p.precision.partials == DType::fp32 && p.precision.accumulators == DType::fp32; }},
      {{{"serialisation", {{"head", 2}}}}, [](const Plan& p) { return p.serialisation.head == 2; }},
  };
  for (const Pin& pin : pins) {
    SCOPED_TRACE(pin.plan.dump());
    try {
      nlohmann::json plan = pin.plan;
      if (!plan.contains("available_memory_proportion")) plan["available_memory_proportion"] = 0.25;  // fewer settings
      World world(test::small_gpt(plan));
      const SearchResult r = searched(world, false);
      EXPECT_FALSE(r.best.empty());
      for (const Candidate& c : r.best) EXPECT_TRUE(pin.holds(c.plan)) << to_json(c.plan).dump();
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

// A global batch that is left free takes micro-batches and accumulation from their pins.
TEST(Search, RangesNeedNoGlobalBatch) {
  nlohmann::json job = test::small_gpt({{"micro_batch", {{"min", 2}, {"max", 2}}},
                                        {"gradient_accumulation", {{"min", 16}, {"max", 16}}},
                                        {"pipeline_stages", 2}});
  job.erase("batch");
  World world(job);
  const SearchResult r = searched(world, false);
  ASSERT_FALSE(r.best.empty());
  EXPECT_EQ(r.best[0].plan.micro_batch, 2);
  EXPECT_EQ(r.best[0].plan.gradient_accumulation, 16);
}

}  // namespace
}  // namespace superstep
