// SPDX-License-Identifier: Apache-2.0
// An Evaluator finds equal stages and phases again; evaluate() sums up every unit of every stage. Both agree to the
// last bit, whatever the plan.
#include "planner/cost/evaluate.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/lower/placement.h"
#include "planner/cost/setting_parts.h"
#include "planner/cost/stage_memo.h"
#include "tests/planner/count_allocations.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::Draw;
using test::World;

// Weights are tied in both of the first: their last units borrow from the first.
std::vector<std::unique_ptr<World>> evaluated_worlds() {
  std::vector<std::unique_ptr<World>> out;
  const json gpt = {{"layers", 7}, {"hidden", 192},      {"heads", 12},
                    {"ffn", 768},  {"vocabulary", 1000}, {"sequence_length", 96}};
  out.push_back(std::make_unique<World>(test::small_bert(5)));
  out.push_back(std::make_unique<World>(test::small_job("gpt2-small", gpt, "ipu-pod16")));
  json inference = test::small_job("gpt2-small", gpt, "ipu-pod16");
  inference["task"] = "inference";
  inference.erase("optimizer");
  out.push_back(std::make_unique<World>(inference));
  return out;
}

std::vector<Recompute> draw_modes(Draw& draw, std::size_t stages) {
  const std::vector<Recompute> modes = {Recompute::none, Recompute::layer, Recompute::stage};
  std::vector<Recompute> out(draw.chance(50) ? 1 : stages);
  for (Recompute& mode : out) mode = draw.of(modes);
  return out;
}

// Other cuts into stages, and sometimes one stage more, back on the first IPU.
Plan recut_pipeline(Plan p, std::int64_t units, Draw& draw) {
  const std::int64_t stages = p.pipeline_stages + (p.pipeline_stages > 1 && draw.chance(50) ? 1 : 0);
  p.stages = draw.ascending(stages - 1, 1, units);
  p.stages.insert(p.stages.begin(), 0);
  p.stage_ipu.clear();
  for (std::int64_t s = 0; s < stages; ++s) p.stage_ipu.push_back(s % p.pipeline_stages);
  p.recompute = draw_modes(draw, p.stages.size());
  return p;
}

// Other cuts into phases: runs of equal ones, some of them with a stage elsewhere, in another mode or on another IPU
// group.
Plan recut_phases(Plan p, std::int64_t units, Draw& draw) {
  const std::int64_t depth = p.pipeline_stages / p.phase_groups;
  p.stages.clear(), p.stage_ipu.clear(), p.phases.clear();
  std::vector<std::int64_t> lengths;
  for (std::int64_t u = 0; u < units;) {
    if (lengths.empty() || draw.chance(20)) {
      lengths.resize(static_cast<std::size_t>(1 + draw.below(depth)));
      for (std::int64_t& length : lengths) length = 1 + draw.below(3);
    }
    const std::int64_t phase = static_cast<std::int64_t>(p.phases.size());
    const std::int64_t shift = draw.chance(10) ? draw.below(depth) : 0;
    p.phases.push_back(static_cast<std::int64_t>(p.stages.size()));
    for (std::size_t i = 0; i < lengths.size() && u < units; ++i) {
      p.stages.push_back(u);
      p.stage_ipu.push_back((p.phase_groups == 2 && phase % 2 == 1 ? depth : 0) +
                            (static_cast<std::int64_t>(i) + shift) % depth);
      u += std::max<std::int64_t>(1, lengths[i] + (draw.chance(10) ? draw.below(3) - 1 : 0));
    }
  }
  p.recompute = draw_modes(draw, p.stages.size());
  for (std::size_t s = 1; s < p.recompute.size(); ++s) {
    if (draw.chance(90)) p.recompute[s] = p.recompute[s - 1];
  }
  return p;
}

struct Asked {
  std::unique_ptr<Setting> setting;
  std::vector<Plan> plans;
};

// Settings of all worlds with many plans each.
std::vector<Asked> draw_asked(const std::vector<std::unique_ptr<World>>& worlds, int settings, int plans) {
  std::vector<Asked> out;
  Draw draw(11);
  for (const auto& world : worlds) {
    for (int i = 0; i < settings; ++i) {
      const bool phased = world->tables.training() && i % 2 == 0;
      Plan plan = phased ? test::draw_phases(*world, draw) : test::draw_pipeline(*world, draw);
      if (!world->tables.training()) plan.location = {}, plan.replicated_tensor_sharding = {};
      Asked asked;
      asked.setting = std::make_unique<Setting>(world->table(plan), plan, world->job.optimizer, plan.phased());
      const std::int64_t units = asked.setting->units();
      for (int k = 0; k < plans; ++k) {
        asked.plans.push_back(plan);
        do plan = phased ? recut_phases(plan, units, draw) : recut_pipeline(plan, units, draw);
        while (plan.phased() != phased);
      }
      out.push_back(std::move(asked));
    }
  }
  return out;
}

TEST(Evaluator, AgreesWithSumsOverAllUnits) {
  const auto all = evaluated_worlds();
  int several_modes = 0, returning = 0, two_groups = 0, in_turn = 0;
  for (const Asked& asked : draw_asked(all, 60, 40)) {
    Evaluator evaluator(*asked.setting);
    for (const Plan& plan : asked.plans) {
      const Estimate expected = evaluate(*asked.setting, plan), found = evaluator(plan);
      ASSERT_EQ(found, expected) << to_json(plan).dump();
      several_modes += plan.recompute.size() > 1 ? 1 : 0;
      returning += !plan.phased() && static_cast<std::int64_t>(plan.stages.size()) > plan.pipeline_stages ? 1 : 0;
      two_groups += plan.phase_groups == 2 ? 1 : 0;
      in_turn += plan.phase_order == PhaseOrder::micro_batch_outer ? 1 : 0;
    }
  }
  for (const int kind : {several_modes, returning, two_groups, in_turn}) EXPECT_GT(kind, 100);
}

// A bound on several settings, for an Evaluator as for evaluate().
TEST(Evaluator, AgreesForBounds) {
  const auto all = evaluated_worlds();
  Draw draw(12);
  World& world = *all[1];
  for (int i = 0; i < 20; ++i) {
    Plan plan = test::draw_pipeline(world, draw);
    SettingSpace space = SettingSpace::just(plan, false, true);
    for (const Location at : {Location::in_processor, Location::streaming}) {
      space.states.push_back({at, plan.replicas});
      space.stashes.push_back({at, plan.activation_sharding});
    }
    const SettingParts parts(world.table(plan), world.costs(plan), space, world.job.optimizer);
    const Setting relaxed = parts.setting(space.all());
    Evaluator evaluator(relaxed);
    for (int k = 0; k < 20; ++k) {
      plan = recut_pipeline(plan, relaxed.units(), draw);
      ASSERT_EQ(evaluator(plan), evaluate(relaxed, plan)) << to_json(plan).dump();
    }
  }
}

// Why the search leaves such plans to those who pin them: the same plan with its weights in the processor needs no more
// memory of any kind and is no slower.
TEST(Evaluate, WeightsKeptOutsideOfAPipelineSaveNothing) {
  Draw draw(14);
  int slower = 0, sharded = 0;
  for (const auto& world : evaluated_worlds()) {
    for (int i = 0; i < 300; ++i) {
      Plan plan = test::draw_pipeline(*world, draw);
      if (!world->tables.training()) plan.location = {}, plan.replicated_tensor_sharding = {};
      if (draw.chance(50))
        plan.replicated_tensor_sharding.weights = draw.of(test::divisors_of(
            world->tables.training() ? plan.replicated_tensor_sharding.optimizer_state : plan.replicas));
      const auto estimate = [&](Location weights) {
        plan.location.weights = weights;
        EXPECT_EQ(world->problem(plan), "");
        return evaluate(Setting(world->table(plan), plan, world->job.optimizer, false), plan);
      };
      const Estimate inside = estimate(Location::in_processor);
      for (const Location at : {Location::streaming, Location::remote_machine, Location::remote_ipu}) {
        if (!has_lender(plan, at, world->job.machine)) continue;
        const Estimate outside = estimate(at);
        ASSERT_LE(inside.cycles, outside.cycles) << to_json(plan).dump();
        ASSERT_LE(inside.tile_peak, outside.tile_peak) << to_json(plan).dump();
        ASSERT_LE(inside.executable, outside.executable) << to_json(plan).dump();
        ASSERT_LE(inside.ddr, outside.ddr) << to_json(plan).dump();
        slower += inside.cycles < outside.cycles ? 1 : 0;
        sharded += plan.replicated_tensor_sharding.weights > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(slower, 500);
  EXPECT_GT(sharded, 200);
}

json small_t5() { return test::small_job("t5-small", {{"layers", 4}, {"hidden", 128}, {"heads", 4}}, "ipu-pod4"); }

// Every layer of a T5 borrows the relative positions of the first: its units are in runs of their own.
TEST(Evaluator, AgreesWhereManyUnitsBorrow) {
  World world(small_t5());
  Draw draw(13);
  for (const bool phased : {false, true}) {
    Plan plan;
    plan.pipeline_stages = plan.replicas = 2;
    plan.gradient_accumulation = 8;
    plan.replicated_tensor_sharding.weights = plan.replicated_tensor_sharding.optimizer_state = 2;
    if (phased) plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
    const Setting setting(world.table(plan), plan, world.job.optimizer, phased);
    ASSERT_GT(setting.table().borrowers().size(), 4u);
    Evaluator evaluator(setting);
    for (int k = 0; k < 400; ++k) {
      plan = phased ? recut_phases(plan, setting.units(), draw) : recut_pipeline(plan, setting.units(), draw);
      if (plan.phased() != phased) continue;
      ASSERT_EQ(evaluator(plan), evaluate(setting, plan)) << to_json(plan).dump();
    }
  }
}

TEST(Evaluator, DoesNotAllocate) {
  const auto all = evaluated_worlds();
  for (const Asked& asked : draw_asked(all, 10, 20)) {
    Evaluator evaluator(*asked.setting);
    const std::int64_t before = test::allocations();
    std::int64_t cycles = 0;
    for (const Plan& plan : asked.plans) cycles += evaluator(plan).cycles;
    EXPECT_EQ(test::allocations(), before);
    EXPECT_GT(cycles, 0);
    evaluate(*asked.setting, asked.plans[0]);  // keeps room for as many IPU groups
    const std::int64_t again = test::allocations();
    for (const Plan& plan : asked.plans) evaluate(*asked.setting, plan);
    EXPECT_EQ(test::allocations(), again);
  }
}

// A GPT of 24 layers has the runs of one layer's three starts, those of its ends, and few others.
TEST(EqualRuns, OfOneNumberAreEqual) {
  World world(test::small_job("gpt2-small", {{"layers", 24}, {"hidden", 128}, {"heads", 4}}, "ipu-pod4"));
  Plan plan;
  plan.replicas = 4;
  const Setting setting(world.table(plan), plan, world.job.optimizer, false);
  const EqualRuns& runs = setting.table().runs();
  const UnitTable& table = setting.table();
  const auto letters = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> out = {begin == 0 ? 1 : 0};
    for (std::int64_t u = begin; u <= end; ++u) {
      const auto unit = static_cast<std::size_t>(u);
      out.push_back(setting.class_of(u));
      if (u == end) break;
      out.push_back(u > begin && table.checkpoint(unit) >= 0 && table.checkpoint(unit) == table.checkpoint(unit - 1));
      if (setting.lender(u) >= 0) out.push_back(begin);
    }
    return out;
  };
  std::map<std::size_t, std::vector<std::int64_t>> seen;
  for (std::int64_t begin = 0; begin < setting.units(); ++begin) {
    for (std::int64_t end = begin + 1; end <= setting.units(); ++end) {
      const std::size_t number = runs.number(begin, end);
      ASSERT_LT(number, runs.count());
      const auto [at, fresh] = seen.try_emplace(number, letters(begin, end));
      ASSERT_EQ(at->second, letters(begin, end)) << begin << " to " << end << (fresh ? "" : ", again");
    }
  }
  EXPECT_EQ(seen.size(), runs.count());
  EXPECT_LT(static_cast<std::int64_t>(runs.count()), 8 * setting.units());
}

TEST(StageMemo, ForgetsAllRatherThanToGrow) {
  StageMemo<std::int64_t> memo(100000);
  const auto square = [](std::size_t key) { return static_cast<std::int64_t>(key * key); };
  for (std::size_t key = 0; key < 100000; ++key) {
    EXPECT_EQ(memo.find(key), nullptr);
    EXPECT_EQ(memo.add(key, square(key)), square(key));
  }
  std::size_t known = 0;
  for (std::size_t key = 0; key < 100000; ++key) {
    const std::int64_t* found = memo.find(key);
    if (found == nullptr) continue;
    EXPECT_EQ(*found, square(key));
    ++known;
  }
  EXPECT_EQ(known, 100000 - 65535);
}

}  // namespace
}  // namespace superstep
