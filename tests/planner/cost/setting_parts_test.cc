// SPDX-License-Identifier: Apache-2.0
// Bounds on many settings, and values that are left out, against the settings themselves.
#include "planner/cost/setting_parts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/lower/placement.h"
#include "planner/cost/evaluate.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::Draw;
using test::World;
using Values = std::array<std::size_t, SettingSpace::kAxes>;

// Bounds on temporary memory, the tightest first.
const std::vector<double> kProportions = {kLeastProportion, 0.07, 0.11, 0.2, 0.31, 0.6, kMostProportion};

// All values that go with the plan's common fields.
SettingSpace around(const World& world, const Plan& plan, bool phased) {
  std::vector<Location> outside = {Location::streaming}, anywhere = {Location::in_processor, Location::streaming};
  for (const Location at : {Location::remote_machine, Location::remote_ipu}) {
    if (!has_lender(plan, at, world.job.machine)) continue;
    outside.push_back(at), anywhere.push_back(at);
  }
  SettingSpace s;
  s.common = plan;
  s.phased = phased;
  using enum LoadSchedule;
  s.loads = {{on_demand, on_demand}};
  if (phased && plan.io_tiles > 0)
    s.loads.insert(s.loads.end(), {{preload, preload}, {on_demand, preload}, {preload, on_demand}});
  for (const Location at : phased ? outside : anywhere) {
    if (plan.activation_sharding == ActivationSharding::throughout)
      s.stashes.push_back({at, ActivationSharding::throughout});
    else
      s.stashes.insert(s.stashes.end(), {{at, ActivationSharding::stored}, {at, ActivationSharding::none}});
  }
  for (const Location at : anywhere) {
    for (const std::int64_t degree : test::divisors_of(plan.replicas)) {
      if (!phased || at != Location::in_processor) {
        s.weights.push_back({at, degree});
        s.states.push_back({at, degree});
      }
      s.gradients.push_back({at, degree});
    }
  }
  s.prefetch_depths = {1, 2, 4};
  s.codes = phased ? anywhere : std::vector{Location::in_processor};
  return s;
}

Values draw_values(const SettingSpace& space, const SettingSpace::Subset& part, Draw& draw) {
  for (;;) {
    Values v{};
    for (std::size_t a = 0; a < v.size(); ++a)
      v[a] =
          part.begin[a] + static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(part.end[a] - part.begin[a])));
    if (space.legal(v)) return v;
  }
}

SettingSpace::Subset just(const Values& values) {
  SettingSpace::Subset part{values, values};
  for (std::size_t& end : part.end) ++end;
  return part;
}

SettingSpace::Subset draw_part(const SettingSpace& space, Draw& draw) {
  for (;;) {
    SettingSpace::Subset part = space.all();
    for (std::size_t a = 0; a < SettingSpace::kAxes; ++a) {
      if (draw.chance(30)) continue;
      part.begin[a] = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(part.end[a])));
      part.end[a] -= static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(part.end[a] - part.begin[a])));
    }
    if (space.size(part) > 0) return part;
  }
}

bool no_worse(const Estimate& a, const Estimate& b) {
  return a.cycles <= b.cycles && a.tile_peak <= b.tile_peak && a.executable <= b.executable && a.ddr <= b.ddr &&
         a.waiting <= b.waiting;
}

std::string text(const Estimate& e) {
  return std::to_string(e.cycles) + " cycles, tile " + std::to_string(e.tile_peak) + ", executable " +
         std::to_string(e.executable) + ", Streaming Memory " + std::to_string(e.ddr) + ", IO tile " +
         std::to_string(e.waiting);
}

struct Drawn {
  Plan plan;
  SettingSpace space;
  const UnitTable& table;
};

void for_each_drawn(int draws, const std::function<void(World&, const Drawn&, Draw&)>& check) {
  Draw draw(21);
  for (const bool phased : {false, true}) {
    World world(test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}},
                                "ipu-pod16"));
    for (int k = 0; k < draws; ++k) {
      const Plan plan = phased ? test::draw_phases(world, draw) : test::draw_pipeline(world, draw);
      check(world, {plan, around(world, plan, phased), world.table(plan)}, draw);
    }
  }
}

TEST(SettingParts, ABoundIsOneOnAllItsSettings) {
  for_each_drawn(40, [](World& world, const Drawn& d, Draw& draw) {
    const SettingParts parts(d.table, world.costs(d.space.common), d.space, world.job.optimizer);
    const SettingSpace::Subset part = draw_part(d.space, draw);
    const Setting bound = parts.setting(part);
    for (int i = 0; i < 10; ++i) {
      const Values values = draw_values(d.space, part, draw);
      const Plan plan = d.space.plan(values);
      const Setting own = parts.setting(just(values));
      const Estimate least = evaluate(bound, plan), is = evaluate(own, plan);
      EXPECT_TRUE(no_worse(least, is)) << text(least) << " against " << text(is) << " of " << to_json(plan).dump();
      EXPECT_LE(bound.work(0, bound.units()), own.work(0, own.units()));
    }
  });
}

// The table of a space's plans with the least time of all bounds on temporary memory.
const UnitTable& fastest_of(World& world, const SettingSpace& space) {
  TableKey key = table_key(space.common);
  key.proportion = kMostProportion;
  key.least_proportion = kLeastProportion;
  return world.tables.table(key);
}

SettingSpace capped(SettingSpace space, double proportion) {
  space.common.available_memory_proportion = proportion;
  return space;
}

// Least time of all bounds on temporary memory, memory of the tightest.
TEST(SettingParts, TwoTablesBoundAllBetween) {
  for_each_drawn(25, [](World& world, const Drawn& d, Draw& draw) {
    const SettingSpace tightest = capped(d.space, kLeastProportion);
    const ShardCosts& costs = world.costs(d.space.common);
    const SettingParts bounds(fastest_of(world, d.space), world.table(tightest.common), costs, d.space,
                              world.job.optimizer);
    for (const double proportion : kProportions) {
      const SettingSpace space = capped(d.space, proportion);
      const SettingParts parts(world.table(space.common), costs, space, world.job.optimizer);
      const Values values = draw_values(space, space.all(), draw);
      const Plan plan = space.plan(values);
      const Estimate least = evaluate(bounds.setting(just(values)), plan);
      const Estimate is = evaluate(parts.setting(just(values)), plan);
      EXPECT_TRUE(no_worse(least, is)) << text(least) << " against " << text(is) << " of " << to_json(plan).dump();
    }
  });
}

// Values that a bound on several tables leaves out are no better with any table between: what is left of a space is so
// before its bounds on temporary memory are divided.
TEST(SettingParts, WhatABoundLeavesOutIsNoBetterBetween) {
  double all = 0, left = 0;
  for_each_drawn(25, [&](World& world, const Drawn& d, Draw& draw) {
    const SettingSpace tightest = capped(d.space, kLeastProportion);
    const ShardCosts& costs = world.costs(d.space.common);
    SettingParts bounds(fastest_of(world, d.space), world.table(tightest.common), costs, d.space, world.job.optimizer);
    bounds.drop_dominated();
    all += d.space.size();
    left += bounds.space().size();
    const double proportion = kLeastProportion + 0.01 * static_cast<double>(draw.below(90));
    const SettingSpace space = capped(d.space, proportion);
    const SettingSpace thin = capped(bounds.space(), proportion);
    const SettingParts kept(world.table(space.common), costs, thin, world.job.optimizer);
    std::vector<std::pair<std::string, Estimate>> estimates;
    Values at{};
    const Values lengths = thin.lengths();
    for (std::size_t axis = 0; axis < at.size();) {
      if (thin.legal(at))
        estimates.emplace_back(kind_of(thin.plan(at)), evaluate(kept.setting(just(at)), thin.plan(at)));
      for (axis = 0; axis < at.size() && ++at[axis] == lengths[axis]; ++axis) at[axis] = 0;
    }
    for (int i = 0; i < 20; ++i) {
      const Plan plan = space.plan(draw_values(space, space.all(), draw));
      const Estimate own = evaluate(Setting(world.table(plan), plan, world.job.optimizer, plan.phased()), plan);
      EXPECT_TRUE(std::ranges::any_of(
          estimates, [&](const auto& e) { return e.first == kind_of(plan) && no_worse(e.second, own); }))
          << text(own) << " of " << to_json(plan).dump();
    }
  });
  EXPECT_LT(left, 0.3 * all);
}

TEST(SettingParts, OneOfManyIsTheSettingOfItsPlan) {
  for_each_drawn(20, [](World& world, const Drawn& d, Draw& draw) {
    SettingParts parts(d.table, world.costs(d.space.common), d.space, world.job.optimizer);
    parts.drop_dominated();
    const SettingSpace& space = parts.space();
    const Values values = draw_values(space, space.all(), draw);
    const Plan plan = space.plan(values);
    const Setting alone(d.table, plan, world.job.optimizer, d.space.phased);
    EXPECT_EQ(text(evaluate(parts.setting(just(values)), plan)), text(evaluate(alone, plan))) << to_json(plan).dump();
  });
}

// Of every setting that is left out there is one of the same kind that takes no more of anything, for the same cut.
TEST(SettingParts, WhatIsLeftOutIsNoBetter) {
  double all = 0, left = 0;
  for_each_drawn(40, [&](World& world, const Drawn& d, Draw& draw) {
    const SettingParts parts(d.table, world.costs(d.space.common), d.space, world.job.optimizer);
    SettingParts thin = parts;
    thin.drop_dominated();
    const SettingSpace& space = thin.space();
    all += d.space.size();
    left += space.size();
    std::vector<Estimate> kept[4][4];
    Values at{};
    const Values lengths = space.lengths();
    for (std::size_t axis = 0; axis < at.size();) {
      if (space.legal(at)) {
        kept[static_cast<int>(kind_of(space.states[at[SettingSpace::state_axis]].at))]
            [static_cast<int>(kind_of(space.stashes[at[SettingSpace::stash_axis]].at))]
                .push_back(evaluate(thin.setting(just(at)), space.plan(at)));
      }
      for (axis = 0; axis < at.size() && ++at[axis] == lengths[axis]; ++axis) at[axis] = 0;
    }
    for (int i = 0; i < 20; ++i) {
      const Values values = draw_values(d.space, d.space.all(), draw);
      const Plan plan = d.space.plan(values);
      const Estimate own = evaluate(parts.setting(just(values)), plan);
      const auto& kind = kept[static_cast<int>(kind_of(plan.location.optimizer_state))]
                             [static_cast<int>(kind_of(plan.location.activations))];
      EXPECT_TRUE(std::any_of(kind.begin(), kind.end(), [&](const Estimate& e) { return no_worse(e, own); }))
          << text(own) << " of " << to_json(plan).dump();
    }
  });
  EXPECT_LT(left, 0.2 * all);
}

bool has(const SettingSpace& space, const Plan& plan) {
  const auto holds = [](const std::vector<Storage>& list, Location at, std::int64_t degree) {
    return std::find(list.begin(), list.end(), Storage{at, degree}) != list.end();
  };
  const auto& rts = plan.replicated_tensor_sharding;
  return holds(space.weights, plan.location.weights, rts.weights) &&
         holds(space.gradients, plan.location.gradients, rts.gradients) &&
         holds(space.states, plan.location.optimizer_state, rts.optimizer_state);
}

// Of sixteen IPUs in domains of as many. Some settings are faster with orthogonal groups, and stay.
void check_groups(std::int64_t domain, int& left_out, int& faster) {
  Draw draw(31 + domain);
  const nlohmann::json machine = {
      {"base", "ipu-pod16"}, {"override", {{"links", {{"domain_ipus", {{"value", domain}, {"source", "invented"}}}}}}}};
  World world(
      test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}}, machine));
  for (int k = 0; k < 60; ++k) {
    Plan plan = k % 2 == 0 ? test::draw_phases(world, draw) : test::draw_pipeline(world, draw);
    if (plan.replicas < 4) continue;
    plan.replicated_tensor_sharding.groups = ShardGroups::consecutive;
    const ShardCosts& usual = world.costs(plan);
    plan.replicated_tensor_sharding.groups = ShardGroups::orthogonal;
    SettingSpace space = around(world, plan, plan.phased());
    space.groups_matter = true;
    SettingParts parts(world.table(plan), world.costs(plan), space, world.job.optimizer);
    parts.drop_idle_groups(usual);
    SettingSpace bounds_space = space;
    bounds_space.common.available_memory_proportion = kProportions.back();
    Plan tightest = plan;
    tightest.available_memory_proportion = kProportions.front();
    SettingParts bounds(world.table(bounds_space.common), world.table(tightest), world.costs(plan), bounds_space,
                        world.job.optimizer);
    bounds.drop_idle_groups(usual);
    for (int i = 0; i < 30; ++i) {
      Plan drawn = space.plan(draw_values(space, space.all(), draw));
      const auto cycles = [&](ShardGroups groups) {
        drawn.replicated_tensor_sharding.groups = groups;
        return evaluate(Setting(world.table(drawn), drawn, world.job.optimizer, drawn.phased()), drawn).cycles;
      };
      const std::int64_t far = cycles(ShardGroups::orthogonal), near = cycles(ShardGroups::consecutive);
      faster += far < near ? 1 : 0;
      if (has(parts.space(), drawn) && has(bounds.space(), drawn)) continue;
      ++left_out;
      EXPECT_GE(far, near) << domain << ": " << to_json(drawn).dump();
    }
  }
}

TEST(SettingParts, OrthogonalGroupsThatAreLeftOutAreNoFaster) {
  int left_out = 0, faster = 0;
  for (const std::int64_t domain : {16, 8, 4}) check_groups(domain, left_out, faster);
  EXPECT_GT(left_out, 100);
  EXPECT_GT(faster, 20);
}

}  // namespace
}  // namespace superstep
