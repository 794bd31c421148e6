// SPDX-License-Identifier: Apache-2.0
// The search's closed form against the lowered program: what it compares plans by is what a report says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "model/cost/step_timer.h"
#include "model/lower/unit_memory.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "planner/search/branch.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::Draw;
using test::World;

struct Compared {
  double time = 0, memory = 0, executable = 0, ddr = 0, waiting = 0;  // closed form over lowered program
};

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? (a == 0 ? 1 : 1e9) : static_cast<double>(a) / static_cast<double>(b);
}

Compared compare(World& world, const Plan& plan) {
  const UnitTable& table = world.table(plan);
  const Setting setting(table, plan, world.job.optimizer, plan.phased());
  const Estimate estimate = evaluate(setting, plan);
  const Program program = lower(table, plan, world.job.optimizer);
  const Timeline timeline = cost(program, world.model);
  EXPECT_EQ(StepTimer(program).step(world.model), timeline.step.total());
  std::int64_t peak = 0, executable = 0, ddr = 0, waiting = 0;
  for (const Preloaded& p : program.preloaded) waiting = std::max(waiting, share(p.total(), plan.io_tiles).value);
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    peak = std::max(peak, timeline.tile_peak(i).value);
    executable = std::max(executable, program.executable(i).value);
    ddr = std::max(ddr, program.ddr[i].total().value);
  }
  return {ratio(estimate.cycles, timeline.step.total().value), ratio(estimate.tile_peak, peak),
          ratio(estimate.executable, executable), ratio(estimate.ddr, ddr), ratio(estimate.waiting, waiting)};
}

std::vector<std::unique_ptr<World>> tables_worlds() {
  std::vector<std::unique_ptr<World>> out;
  const nlohmann::json gpt = {{"layers", 4}, {"hidden", 192},      {"heads", 12},
                              {"ffn", 768},  {"vocabulary", 1000}, {"sequence_length", 96}};
  const nlohmann::json wide = {
      {"layers", 2}, {"hidden", 768}, {"heads", 12}, {"vocabulary", 8000}, {"sequence_length", 128}};
  out.push_back(std::make_unique<World>(test::small_bert(3)));
  out.push_back(std::make_unique<World>(test::small_job("gpt2-small", gpt, "ipu-pod16")));
  out.push_back(std::make_unique<World>(test::small_job("gpt2-small", wide, "ipu-pod16")));
  return out;
}

void expect_equal(World& world, const Plan& plan) {
  ASSERT_EQ(world.problem(plan), "") << to_json(plan).dump();
  const Compared c = compare(world, plan);
  const std::string what = world.job.model.name() + " " + to_json(plan).dump();
  EXPECT_NEAR(c.time, 1, 0.01) << what;
  EXPECT_GE(c.memory, 1) << what;
  EXPECT_LE(c.memory, 1.03) << what;
  EXPECT_GE(c.executable, 1) << what;
  EXPECT_NEAR(c.ddr, 1, 0.01) << what;
  EXPECT_GE(c.waiting, 1) << what;
  EXPECT_LE(c.waiting, 1.03) << what;
}

constexpr int kPlans = 50;  // of each kind and world

TEST(Tables, AgreeWithLoweredPipelines) {
  Draw draw(1);
  for (const auto& world : tables_worlds()) {
    for (int i = 0; i < kPlans; ++i) expect_equal(*world, test::draw_pipeline(*world, draw));
  }
}

TEST(Tables, AgreeWithLoweredPhases) {
  Draw draw(2);
  for (const auto& world : tables_worlds()) {
    for (int i = 0; i < kPlans; ++i) expect_equal(*world, test::draw_phases(*world, draw));
  }
}

// A stage's functions are those of a plan that has its bound alone.
TEST(Tables, AgreeWhereStagesHaveBoundsOfTheirOwn) {
  Draw draw(23);
  const std::vector<Proportion> bounds = {0.005, 0.02, 0.2, {0.1, Live::unit}, {0.1, Live::layer}};
  int differ = 0;
  for (const auto& world : tables_worlds()) {
    for (int i = 0; i < kPlans; ++i) {
      Plan plan = i % 2 == 0 ? test::draw_pipeline(*world, draw) : test::draw_phases(*world, draw);
      for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stage_proportions.push_back(draw.of(bounds));
      plan.available_memory_proportion = plan.stage_proportions[0];
      expect_equal(*world, plan);
      const UnitTable& table = world->table(plan);
      for (std::size_t u = 0; u < table.units(); ++u) {
        const auto stage =
            std::ranges::upper_bound(plan.stages, static_cast<std::int64_t>(u)) - plan.stages.begin() - 1;
        Plan alike = plan;
        alike.stage_proportions.clear();
        alike.available_memory_proportion = plan.stage_proportions[static_cast<std::size_t>(stage)];
        const UnitRow &own = table.row(u), &other = world->table(alike).row(u);
        EXPECT_EQ(own.backward_cycles.total(), other.backward_cycles.total()) << u;
        EXPECT_EQ(own.backward.peak, other.backward.peak) << u;
        alike.available_memory_proportion = plan.available_memory_proportion;
        differ += own.backward_cycles.total() != world->table(alike).row(u).backward_cycles.total() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(differ, 100);
}

// Words and relative positions of a T5 are borrowed by many units, several of them in one stage or on one IPU group.
TEST(Tables, AgreeWhereManyUnitsBorrow) {
  Draw draw(14);
  World world(test::small_job(
      "t5-small", {{"layers", 3}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 1000}, {"sequence_length", 64}},
      "ipu-pod16"));
  for (int i = 0; i < kPlans; ++i) {
    expect_equal(world, test::draw_pipeline(world, draw));
    expect_equal(world, test::draw_phases(world, draw));
  }
}

// Phases on one IPU each, whose weights come in while the phase before computes.
TEST(Tables, WhatIsPreloadedMustFitOnTheIoTiles) {
  World world(
      test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 256}, {"heads", 4}, {"vocabulary", 4000}}, "ipu-pod4"));
  Plan plan;
  plan.replicas = 4;
  plan.stages.clear(), plan.stage_ipu.clear(), plan.phases.clear();
  const std::int64_t units = static_cast<std::int64_t>(world.tables.facts(1).graph.units.size());
  for (std::int64_t u = 0; u < units; ++u)
    plan.stages.push_back(u), plan.stage_ipu.push_back(0), plan.phases.push_back(u);
  plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
  plan.load = {LoadSchedule::preload, LoadSchedule::preload};
  // Of all units the embedding has most: 4000 words and 1024 positions of 256 numbers of two bytes, 2,572,288 bytes,
  // where a tile has 638,976.
  for (const auto& [io_tiles, shards, waiting] : {std::tuple(1, 1, 2572288), {1, 4, 643072}, {2, 4, 321536}}) {
    plan.io_tiles = io_tiles;
    plan.replicated_tensor_sharding = {shards, 1, shards};
    ASSERT_EQ(world.problem(plan), "");
    const UnitTable& table = world.table(plan);
    const Setting setting(table, plan, world.job.optimizer, true);
    const Estimate estimate = evaluate(setting, plan);
    EXPECT_EQ(estimate.waiting, waiting);
    EXPECT_EQ(estimate.fits(setting), waiting <= 638976);
    const Program program = lower(table, plan, world.job.optimizer);
    const std::vector<Overflow> overflows = find_overflows(program, cost(program, world.model), table);
    ASSERT_EQ(overflows.size(), waiting <= 638976 ? 0U : 1U);
    if (overflows.empty()) continue;
    EXPECT_EQ(overflows[0].constraint, "IO tile memory");
    EXPECT_EQ(overflows[0].over, Bytes(waiting - 638976));
  }
}

// Phases take turns: what is resident and what is transient at the peak belong to the same one.
TEST(Tables, PeakOfPhasesIsOfOnePhase) {
  Draw draw(4);
  int less = 0;  // IPU groups whose peak is below the sum of the worst residents and the worst transient
  for (const auto& world : tables_worlds()) {
    for (int i = 0; i < kPlans; ++i) {
      const Plan plan = test::draw_phases(*world, draw);
      const Program program = lower(world->table(plan), plan, world->job.optimizer);
      const Timeline timeline = cost(program, world->model);
      for (std::size_t ipu = 0; ipu < program.ipus(); ++ipu) {
        const std::vector<Residents>& phases = program.residents[ipu];
        ASSERT_EQ(phases.size(), plan.phases.size());
        EXPECT_NE(std::find(phases.begin(), phases.end(), timeline.residents[ipu]), phases.end());
        Bytes worst(0);
        for (const Residents& r : phases) {
          worst = std::max(worst, r.total());
          EXPECT_GE(timeline.tile_peak(ipu), r.total());
        }
        less += timeline.tile_peak(ipu) < worst + timeline.transient[ipu].total() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(less, 0);
}

TEST(Tables, AgreeForInference) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 3}, {"hidden", 192}, {"vocabulary", 1000}, {"sequence_length", 64}}, "ipu-pod16");
  job["task"] = "inference";
  job.erase("optimizer");
  World world(job);
  Draw draw(3);
  int phased = 0;
  for (int i = 0; i < kPlans; ++i) {
    for (Plan plan : {test::draw_pipeline(world, draw), test::draw_phases(world, draw)}) {
      if (!plan.phased()) plan.location = {};
      plan.location.gradients = plan.location.optimizer_state = Location::in_processor;
      plan.replicated_tensor_sharding.gradients = plan.replicated_tensor_sharding.optimizer_state = 1;
      if (!plan.phased()) plan.replicated_tensor_sharding = {};
      plan.recompute = {Recompute::layer};
      if (!world.problem(plan).empty()) continue;
      phased += plan.phased();
      expect_equal(world, plan);
    }
  }
  EXPECT_GT(phased, kPlans / 2);
}

// Inputs are read ahead: a step waits for them only where the network takes longer than everything else.
TEST(Tables, AgreeWhereTheNetworkIsSlowerThanTheStep) {
  const auto world_of = [](const char* rate) {
    return World(test::small_job(
        "gpt2-small", {{"layers", 2}, {"hidden", 16}, {"heads", 2}, {"vocabulary", 32}, {"sequence_length", 8}},
        {{"base", "toy"}, {"partition", 2}, {"override", {{"host", {{"rate", rate}}}}}}));
  };
  Plan plan;
  plan.replicas = plan.micro_batch = plan.gradient_accumulation = 2;
  plan.stages = plan.stage_ipu = {0};
  World slow = world_of("0.01 kB/s"), fast = world_of("1 GB/s");
  expect_equal(slow, plan);
  const auto step = [&](World& world) {
    return cost(lower(world.table(plan), plan, world.job.optimizer), world.model).step;
  };
  // Tokens and labels of 2 micro-batches of 2 samples of 8: 256 B for each of the two IPUs that share a byte in 100,000
  // cycles.
  EXPECT_EQ(step(slow).total(), Cycles(51200000));
  const std::int64_t waits = step(slow)[Term::host] - step(fast)[Term::host];
  EXPECT_EQ(waits, step(slow).total().value - step(fast).total().value);
  EXPECT_LT(step(fast).total(), Cycles(51200000));
  // In two stages on two IPUs they are read for both: half as long for each.
  plan.replicas = 1;
  plan.pipeline_stages = 2;
  plan.stages = plan.stage_ipu = {0, 1};
  plan.gradient_accumulation = 4;
  expect_equal(slow, plan);
  EXPECT_EQ(step(slow).total(), Cycles(51200000));
}

// Two host programs, each for two of four replicas: tokens and labels of 16 micro-batches of one sample, 64 of 4 bytes
// each, at 1 MB/s.
TEST(Tables, HostProgramsThatCopyInputsTakeTheirTimeAheadOfTheStep) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 64}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 4}, {"micro_batch", 1}};
  const auto seconds = [&](std::int64_t programs) {
    job["machine"] = {{"base", "ipu-pod4"},
                      {"override", {{"host", {{"copying_programs", programs}, {"copy_rate", "1 MB/s"}}}}}};
    World world(job);
    const Evaluated e = evaluate_pinned(world.tables, 1);
    EXPECT_NEAR(compare(world, e.plan).time, 1, 1e-5);
    return e.step_seconds;
  };
  const double streamed = seconds(0), fed = 2 * 16 * 2 * 64 * 4;
  EXPECT_NEAR(seconds(2) - streamed, fed / 1e6 / load_calibration().host_copy_factor, 1e-6);
  EXPECT_NEAR(seconds(4) - streamed, fed / 2e6 / load_calibration().host_copy_factor, 1e-6);
}

// Of everything that a bound on temporary memory may change, updates by one and by four replicas included.
std::vector<std::int64_t> numbers_of(const UnitTable& table, std::int64_t t) {
  std::vector<std::int64_t> all;
  const auto add = [&](const Footprint& f, Cycles cycles) {
    for (std::int64_t v : {cycles.value, f.peak.value, f.peak_keeping.value, f.kept.value, f.crossing.value,
                           f.exchange_code.value, static_cast<std::int64_t>(f.vertices.count())})
      all.push_back(v);
  };
  for (std::size_t u = 0; u < table.units(); ++u) {
    add(table.row(u).forward, table.row(u).forward_cycles.total());
    add(table.row(u).backward, table.row(u).backward_cycles.total());
    if (table.row(u).parameters == 0) continue;
    for (GroupShape group : {GroupShape{1, t}, GroupShape{4, t}})
      add(table.update(u, group).footprint, table.update(u, group).cycles);
  }
  return all;
}

TEST(Tables, SayForWhichBoundsOnTemporaryMemoryTheyHold) {
  Draw draw(5);
  World world(test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 1024}, {"heads", 8}, {"vocabulary", 8000}, {"sequence_length", 256}},
      "ipu-pod16"));
  const Chip& chip = world.job.machine.chip;
  int tables = 0;
  for (const auto& [t, live] : {std::pair<std::int64_t, Live>{1, Live::none},
                                {2, Live::none},
                                {1, Live::unit},
                                {2, Live::unit},
                                {1, Live::layer},
                                {1, Live::weights}}) {
    SCOPED_TRACE(testing::Message() << t << ", " << name_of(live));
    Plan plan;
    plan.tensor_parallel = {t, 1};
    plan.micro_batch = 4;
    const auto table_at = [&, of = live](std::int64_t cap) -> const UnitTable& {
      plan.available_memory_proportion = {proportion_of(CapRange{cap, cap}, chip), of};
      return world.table(plan);
    };
    const CapRange all = free_caps(world.job).range;
    SettingSpace space = SettingSpace::just(plan, false, true);
    space.common.replicas = 4;
    space.states = {{Location::in_processor, 1}, {Location::in_processor, 4}};
    for (std::int64_t cap = all.most; cap >= all.least; ++tables) {
      const UnitTable& table = table_at(cap);
      const CapRange same = caps_of(table, space).range;
      EXPECT_TRUE(same.contains(CapRange::just(Bytes(cap))));
      const std::int64_t most = std::min(same.most, all.most), lowest = std::max(same.least, all.least);
      const std::vector<std::int64_t> own = numbers_of(table, t);
      for (const std::int64_t other : {lowest, lowest + draw.below(most - lowest + 1), most})
        EXPECT_EQ(numbers_of(table_at(other), t), own) << cap << ", " << other;
      cap = same.least - 1;
    }
  }
  EXPECT_GT(tables, 40);
}

// Where bounds count what is live, a product and what is moved for it take no more than that leaves, or what any op
// may.
TEST(Tables, BoundsThatCountWhatIsLiveLeaveOpsTheRest) {
  World world(test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 1024}, {"heads", 8}, {"vocabulary", 8000}, {"sequence_length", 256}},
      "ipu-pod16"));
  const Chip& chip = world.job.machine.chip;
  const auto held = [](const UnitTable& table, std::size_t u, Pass pass) {
    return held_by_layer(table.facts(), UnitId(u), pass,
                         [&](TensorId t) { return per_tile(table.facts(), table.sharding(), t, table.tiles()); });
  };
  // What a tile has of weights, and as much of gradients in the same format.
  const auto own = [](const UnitTable& table, std::size_t u) {
    return 2 * (table.row(u).weight_tile + table.row(u).borrowed_tile);
  };
  int wide = 0;
  Bytes most_held(0);
  for (const Live live : {Live::unit, Live::layer, Live::weights}) {
    for (const double share : {0.2, 0.35, 0.5, 0.8}) {
      Plan plan;
      plan.micro_batch = 4;
      plan.available_memory_proportion = {share, live};
      const UnitTable& table = world.table(plan);
      for (std::size_t u : table.first_of_class()) {
        for (const Pass pass : {Pass::forward, Pass::backward}) {
          if (u == table.units()) continue;
          const Bytes beside = live == Live::layer     ? held(table, u, pass)
                               : live == Live::weights ? own(table, u)
                                                       : Bytes(0);
          most_held = std::max(most_held, beside);
          const auto& ops = table.facts().graph.units[UnitId(u)].ops[static_cast<std::size_t>(pass)];
          for (const Step& s : table.function(u, pass).steps) {
            const Op& op = table.facts().graph.ops[ops[static_cast<std::size_t>(s.op)]];
            if (!op.def->product || s.kind == StepKind::collective || s.temporary <= least_cap(chip)) continue;
            const Bytes keeping = live == Live::layer && pass == Pass::forward ? s.keeping : Bytes(0);
            EXPECT_LE(s.live + keeping + beside + s.temporary, cap_of(share, chip)) << u << ", " << share;
            ++wide;
          }
        }
      }
    }
  }
  EXPECT_GT(wide, 100);
  EXPECT_GT(most_held, Bytes(10000));
}

// The steps of a recurrent layer are one loop on the device: more of them take more time and no more code.
TEST(Tables, TurnsOfALoopShareTheirCode) {
  const auto layer = [](std::int64_t steps, std::int64_t t) {
    World world(test::small_job("lstm", {{"layers", 1}, {"hidden", 64}, {"sequence_length", steps}}, "ipu-pod4"));
    TableKey key;
    key.mesh = {t, 1};
    key.precision = world.job.pins.precision;
    return world.tables.table(key).row(1);
  };
  for (const std::int64_t t : {1, 2}) {
    const UnitRow few = layer(6, t), many = layer(30, t);
    EXPECT_EQ(few.forward.exchange_code, many.forward.exchange_code) << t;
    EXPECT_EQ(few.backward.exchange_code, many.backward.exchange_code) << t;
    EXPECT_GT(few.forward.exchange_code, Bytes(0));
    EXPECT_GT(many.forward_cycles.total().value, 4 * few.forward_cycles.total().value);
  }
}

// Of convolutions, recurrences and transformers, with one table for several bounds too.
TEST(Tables, WhatStandsOnATileIsPartOfEveryPeak) {
  const nlohmann::json gpt = {
      {"layers", 1}, {"hidden", 256}, {"heads", 4}, {"vocabulary", 1000}, {"sequence_length", 128}};
  for (const std::string zoo : {"gpt2-small", "resnet50", "lstm"}) {
    World world(test::small_job(zoo, zoo == "gpt2-small" ? gpt : nlohmann::json::object(), "ipu-pod4"));
    double most_share = 0;
    for (const bool split : {false, true}) {
      TableKey key;
      key.mesh = {2, 1};
      key.split_activations = split;
      key.precision = world.job.pins.precision;
      key.proportion = 1;
      key.least_proportion = 0.05;
      const UnitTable& range = world.tables.table(key);
      key.least_proportion.reset();
      for (const double proportion : {0.02, 0.1, 0.3, 1.0}) {
        for (const std::int64_t io_tiles : {0, 32, 128, 700}) {
          key.proportion = proportion;
          key.io_tiles = io_tiles;
          const UnitTable& table = world.tables.table(key);
          for (std::size_t u = 0; u < table.units(); ++u) {
            for (Footprint UnitRow::*pass : {&UnitRow::forward, &UnitRow::backward}) {
              const Bytes peak = (table.row(u).*pass).peak, standing = (range.row(u).*pass).standing;
              EXPECT_LE(standing, peak) << zoo << ", unit " << u << ", " << io_tiles << " IO tiles, " << proportion;
              if (peak.value > 0)
                most_share =
                    std::max(most_share, static_cast<double>(standing.value) / static_cast<double>(peak.value));
            }
          }
        }
      }
    }
    EXPECT_GT(most_share, 0.4) << zoo;
  }
}

// The heads gather a few rows of the last layer's result, so that its gradient is scattered over all rows.
TEST(Tables, TheLayerWhoseRowsAreGatheredIsEqualToTheOneBefore) {
  World world(test::small_job(
      "bert-base",
      {{"layers", 3}, {"hidden", 256}, {"heads", 4}, {"sequence_length", 64}, {"masked_tokens", 10}, {"packed", true}},
      "ipu-pod16"));
  const GraphFacts& facts = world.table(Plan{}).facts();
  std::map<std::int64_t, std::vector<std::uint64_t>> layers;
  for (std::size_t u = 0; u < facts.graph.units.size(); ++u)
    layers[facts.graph.units[UnitId(u)].layer].push_back(facts.signatures[u]);
  ASSERT_EQ(layers.size(), 4U);  // three, and what is in none
  EXPECT_EQ(layers.at(2), layers.at(1));
}

// Cycles and code.
std::vector<std::int64_t> cost_by_pass(const UnitTable& table) {
  std::vector<std::int64_t> cost;
  for (std::size_t u : table.first_of_class()) {
    if (u == table.units()) continue;
    const UnitRow& row = table.row(u);
    for (const Cycles c : {row.forward_cycles.total(), row.backward_cycles.total()}) cost.push_back(c.value);
    for (const Footprint* f : {&row.forward, &row.backward}) cost.push_back(f->exchange_code.value);
  }
  return cost;
}

// In no pass of any unit. The loosest bound is not always the fastest: the gradients of a large vocabulary's weights
// are made in slices. With shards of all activations a product's results are larger than what is kept of them, which
// shows where its parts are added up.
TEST(Tables, OfSeveralBoundsTakeNoMoreTimeOrCodeThanAny) {
  Draw draw(6);
  World world(test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 1024}, {"heads", 8}, {"vocabulary", 50000}, {"sequence_length", 512}},
      "ipu-pod16"));
  const Chip& chip = world.job.machine.chip;
  const CapRange all = free_caps(world.job).range;
  int slower = 0;
  TableKey whole, loaded, shards;
  loaded.micro_batch = 4;
  shards.mesh = {8, 1};
  shards.split_activations = true;
  std::vector<TableKey> keys = {whole, loaded, shards};
  for (const Live live : {Live::unit, Live::layer, Live::weights}) {
    keys.push_back(loaded);
    keys.back().proportion.live = live;
  }
  for (const TableKey& key : keys) {
    const auto table_of = [&](std::int64_t cap, std::int64_t least_cap) -> const UnitTable& {
      TableKey bounds = key;
      bounds.proportion = {proportion_of(CapRange{cap, cap}, chip), key.proportion.live};
      if (least_cap < cap) bounds.least_proportion = proportion_of(CapRange{least_cap, least_cap}, chip);
      return world.tables.table(bounds);
    };
    std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> tables;  // bound, cost
    for (std::int64_t cap = all.most; cap >= all.least;) {
      const UnitTable& table = table_of(cap, cap);
      tables.emplace_back(cap, cost_by_pass(table));
      cap = table.caps().range.least - 1;
    }
    for (int k = 0; k < 60; ++k) {
      const auto n = static_cast<std::int64_t>(tables.size());
      const auto first = draw.below(n), last = std::min(n - 1, first + draw.below(k % 2 == 0 ? n : 6));
      const auto at = [&](std::int64_t i) -> const auto& { return tables[static_cast<std::size_t>(i)]; };
      const std::vector<std::int64_t> least = cost_by_pass(table_of(at(first).first, at(last).first));
      for (std::int64_t i = first; i <= last; ++i) {
        for (std::size_t pass = 0; pass < least.size(); ++pass) {
          EXPECT_LE(least[pass], at(i).second[pass]) << first << " to " << last << ", " << i << ", number " << pass;
          if (at(i).second[pass] < at(first).second[pass]) ++slower;
        }
      }
    }
  }
  EXPECT_GT(slower, 0);
}

}  // namespace
}  // namespace superstep
