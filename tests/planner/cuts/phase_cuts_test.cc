// SPDX-License-Identifier: Apache-2.0
// The cut programme for phases against every cut there is.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_bounds.h"
#include "tests/onnx/onnx_file_maker.h"
#include "tests/planner/cut_options.h"

namespace superstep::test {
namespace {

// That may be pinned.
const std::vector<IntegerPin> kPhaseCounts = {{{2}},      {{3}},      {{1, 2}}, {{2, 4}}, {{9}},
                                              {{}, 2, 3}, {{}, 1, 2}, {{}, 2},  {{}, 3},  {{}, 4}};

constexpr LoadSchedules kPreload{LoadSchedule::preload, LoadSchedule::preload};

// What phases may differ in, beside what draw_phases() draws.
struct PhaseKind {
  std::int64_t ipus = 1, groups = 1;
  LoadSchedules load;
  Location code = Location::in_processor;
  bool uses_remote_tile = false;  // which of weights, gradients, states and boundaries other IPUs' tiles hold is drawn
  bool ddr = false;               // limits on Streaming Memory are drawn as well
};

// How often there are cuts that fit, and how often a bound is the time of the best of them.
struct BoundsMet {
  int of = 0, by_own_code = 0, by_prices = 0;
  int unfinished = 0;  // bounds of little work
  void add(const BoundsMet& more) {
    of += more.of, by_own_code += more.by_own_code, by_prices += more.by_prices, unfinished += more.unfinished;
  }
};

Plan draw_kind(const PhaseKind& kind, World& world, Draw& draw) {
  Plan plan = draw_phases(world, draw);
  plan.tensor_parallel = {1, 1};
  plan.pipeline_stages = kind.ipus;
  plan.phase_groups = kind.groups;
  plan.replicas = 16 / kind.ipus;
  plan.replicated_tensor_sharding = {draw.of<std::int64_t>({1, 2}), 1, 4};
  plan.load = kind.load;
  if (plan.load != LoadSchedules{}) plan.io_tiles = 32;
  plan.location.code = kind.code;
  for (Location* at : {&plan.location.weights, &plan.location.activations})
    *at = kind.uses_remote_tile && draw.chance(60) ? Location::remote_ipu : Location::streaming;
  if (kind.uses_remote_tile) {
    plan.location.optimizer_state = draw.of<Location>({Location::streaming, Location::remote_ipu});
    if (plan.phase_order == PhaseOrder::micro_batch_outer)
      plan.location.gradients = draw.of<Location>({Location::streaming, Location::remote_ipu});
  }
  return plan;
}

// With little Streaming Memory as well.
void draw_ddr(CutLimits& limits, const std::vector<Option>& options, Draw& draw) {
  limits.ddr = draw.of(options).estimate.ddr;
  limits.tile = std::max(limits.tile, draw.of(options).estimate.tile_peak);
}

BoundsMet try_phases(const PhaseKind& kind, const nlohmann::json& job, const std::vector<Recompute>& modes,
                     std::uint64_t seed) {
  BoundsMet met;
  Draw draw(seed);
  World world(job);
  for (int k = 0; k < 8; ++k) {
    const Plan plan = draw_kind(kind, world, draw);
    const Setting setting(world.table(plan), plan, world.job.optimizer, true);
    CutRules rules;
    rules.modes = modes;
    const std::vector<Option> all = all_options(setting, rules, true);
    std::vector<Option> options = all;
    const IntegerPin count = draw.of(kPhaseCounts);
    if (draw.chance(30)) {
      rules.phase_count = &count;
      std::erase_if(options, [&](const Option& o) { return !count.allows(std::ssize(o.cuts.phases)); });
    }
    for (int i = 0; i < 6; ++i) {
      const std::vector<Option>& some = options.empty() ? all : options;
      CutLimits limits = draw_limits(some, setting, draw);
      if (kind.ddr) draw_ddr(limits, some, draw);
      std::int64_t open = INT64_MAX;
      const std::optional<Cuts> found = cut_phases(setting, rules, limits, &open);
      const Option* best = best_of(options, limits);
      expect_best(setting, options, limits, found);
      EXPECT_EQ(open, INT64_MAX) << describe(setting, limits);
      CutLimits by_labels = limits;
      by_labels.few_cases = 1;
      expect_best(setting, options, by_labels, cut_phases(setting, rules, by_labels, nullptr));
      CutLimits reduced = limits, little_work = limits, some_work = limits, too_late = limits;
      reduced.reduced_budget = true;
      little_work.most_work = 160, some_work.most_work = 4800;
      too_late.deadline = std::chrono::steady_clock::time_point::min();
      for (const CutLimits& less : {reduced, little_work, some_work, too_late}) {
        open = INT64_MAX;
        const std::optional<Cuts> cuts = cut_phases(setting, rules, less, &open);
        const std::int64_t first = cuts ? cuts->cycles : INT64_MAX, least = found ? found->cycles : INT64_MAX;
        EXPECT_GE(first, least) << describe(setting, limits);
        EXPECT_LE(std::min(first, open), least) << describe(setting, limits);
        EXPECT_LE(std::min(bound_phases_by_prices(setting, rules, less), limits.best), least)
            << describe(setting, limits);
        bool exact = false;
        const std::int64_t bound = bound_phases(setting, rules, less, &exact);
        EXPECT_LE(std::min(bound, limits.best), least) << describe(setting, limits);
        met.unfinished += exact ? 0 : 1;
        if (exact) {
          EXPECT_EQ(bound, bound_phases(setting, rules, limits)) << describe(setting, limits);
        }
      }
      const auto again = [&](const CutLimits& l) { return cut_phases(setting, rules, l, nullptr); };
      expect_found_under_its_own_bound(options, limits, again);
      const std::int64_t own_code = bound_phases(setting, rules, limits);
      const std::int64_t priced = bound_phases_by_prices(setting, rules, limits);
      EXPECT_LE(own_code, priced) << describe(setting, limits);
      if (!best || best->estimate.cycles >= limits.best) continue;
      EXPECT_LE(priced, best->estimate.cycles) << describe(setting, limits);
      ++met.of;
      met.by_own_code += own_code == best->estimate.cycles;
      met.by_prices += priced == best->estimate.cycles;
    }
  }
  return met;
}

const std::vector<Recompute> kPhaseModes = {Recompute::layer, Recompute::stage};

TEST(Cuts, OfPhasesOnOneIpuAreTheBestOfAll) {
  try_phases({}, tiny("gpt2-small", 2, 128, 4000), kPhaseModes, 21);
  try_phases({}, tiny("bert-base", 1, 256, 3000), kPhaseModes, 22);
}

TEST(Cuts, OfPhasesOnSeveralIpusAreTheBestOfAll) {
  for (std::uint64_t seed : {23, 24, 25}) {
    try_phases({.ipus = 2}, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, seed);
    try_phases({.ipus = 2}, tiny("bert-base", 1, 256, 3000), kPhaseModes, seed);
    try_phases({.ipus = 4}, tiny("gpt2-small", 2, 64, 500), kPhaseModes, seed);
  }
}

// The embedding's weights are borrowed in the middle of the model, where the owner may be in the same phase, and at the
// end. An IPU group has them once.
TEST(Cuts, OfPhasesThatBorrowTwiceAreTheBestOfAll) {
  BoundsMet met;
  for (std::uint64_t seed : {40, 41, 42, 43}) {
    for (const PhaseKind& kind : {PhaseKind{.ipus = 2}, PhaseKind{.ipus = 2, .ddr = true},
                                  PhaseKind{.ipus = 4, .ddr = true}, PhaseKind{.ipus = 4, .groups = 2, .ddr = true}})
      met.add(try_phases(kind, tiny("t5-small", 1, 64, 4000), {Recompute::layer}, seed));
  }
  EXPECT_GE(met.of, 80);
  EXPECT_GE(met.by_prices, met.of / 2);
  EXPECT_GE(met.unfinished, met.of / 2);
}

// Seven products one after the other. The second's weights are those of the fourth and sixth too; its bias is the
// sixth's, and the fourth's unless that takes none.
nlohmann::json products(bool evenly) {
  constexpr std::int64_t kWidth = 192;
  test::FileMaker file;
  file.input("x0", {-1, kWidth});
  for (const int i : {0, 1, 2, 4, 6})
    file.floats("w" + std::to_string(i), {kWidth, kWidth}, test::numbers(kWidth * kWidth, 1));
  file.floats("bias", {kWidth}, test::numbers(kWidth, 2));
  for (int i = 0; i < 7; ++i) {
    const std::string in = "x" + std::to_string(i), sum = "y" + std::to_string(i), out = "x" + std::to_string(i + 1);
    const std::string weights = "w" + std::to_string(i % 2 == 1 ? 1 : i);
    if (i % 2 == 1 && (evenly || i != 3))
      file.node("Gemm", {in, weights, "bias"}, {sum});
    else
      file.node("MatMul", {in, weights}, {sum});
    file.node("Relu", {sum}, {out});
  }
  file.node("ReduceMean", {"x7"}, {"loss"}).set("keepdims", 0);
  file.output("loss");
  return {{"model", {{"onnx", file.write()}}},
          {"machine", "ipu-pod16"},
          {"optimizer", {{"kind", "adam"}}},
          {"batch", {{"global", 64}}}};
}

// Shared weights whose owner may be on any IPU group, from where new values have to come; that takes time of which
// programmes count none.
TEST(Cuts, OfPhasesThatBorrowInTheMiddleFit) {
  int found_any = 0, best_found = 0, left_open = 0;
  for (const bool evenly : {true, false}) {
    World world(products(evenly));
    const std::vector<TiedUnit>& tied = world.tables.facts(1).tied;
    ASSERT_EQ(tied.size(), 2U);
    ASSERT_EQ(tied[1].owner, 1);
    Draw draw(51);
    for (int k = 0; k < 60; ++k) {
      const std::int64_t ipus = draw.of<std::int64_t>({1, 2, 4});
      const PhaseKind kind{
          .ipus = ipus, .groups = ipus > 1 && draw.chance(40) ? 2 : 1, .uses_remote_tile = draw.chance(50)};
      const Plan plan = draw_kind(kind, world, draw);
      const Setting setting(world.table(plan), plan, world.job.optimizer, true);
      CutRules rules;
      rules.modes = {Recompute::layer};
      const std::vector<Option> options = all_options(setting, rules, true);
      CutLimits limits = draw_limits(options, setting, draw);
      if (draw.chance(70)) draw_ddr(limits, options, draw);
      limits.best = INT64_MAX;
      const Option* best = best_of(options, limits);
      std::int64_t open = INT64_MAX;
      const std::optional<Cuts> found = cut_phases(setting, rules, limits, &open);
      left_open += open < INT64_MAX;
      EXPECT_TRUE(open == INT64_MAX || !evenly) << describe(setting, limits);
      EXPECT_TRUE(!best || found || open < INT64_MAX) << describe(setting, limits);
      if (!found) continue;
      ASSERT_TRUE(best) << describe(setting, limits);
      EXPECT_TRUE(fits(evaluate(setting, with_cuts(plan, *found)), limits)) << describe(setting, limits);
      ++found_any;
      best_found += found->cycles == best->estimate.cycles;
    }
  }
  EXPECT_GE(found_any, 60);
  EXPECT_GE(best_found, found_any * 9 / 10);
  EXPECT_GE(left_open, 1);  // of units that use different parts
  EXPECT_LE(left_open, 10);
}

TEST(Cuts, OfPhasesWithHiddenLoadsAreTheBestOfAll) {
  for (std::int64_t ipus : {1, 2, 4}) {
    try_phases({.ipus = ipus, .load = kPreload}, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, 26);
    try_phases({.ipus = ipus, .load = kPreload}, tiny("bert-base", 1, 256, 3000), kPhaseModes, 27);
  }
}

TEST(Cuts, OfPhasesOnTwoGroupsAreTheBestOfAll) {
  for (std::int64_t ipus : {2, 4}) {
    try_phases({.ipus = ipus, .groups = 2}, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, 28);
    try_phases({.ipus = ipus, .groups = 2}, tiny("bert-base", 1, 256, 3000), kPhaseModes, 29);
  }
}

// Each phase brings its own code, which then takes time and stands only beside its own weights. Streaming Memory has
// that of all phases.
TEST(Cuts, OfPhasesThatLoadTheirCodeAreTheBestOfAll) {
  for (std::int64_t ipus : {1, 2, 4}) {
    for (std::uint64_t seed : {36, 37}) {
      const PhaseKind little{.ipus = ipus, .code = Location::streaming, .ddr = true};
      try_phases(little, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, seed);
      try_phases(little, tiny("bert-base", 1, 256, 3000), kPhaseModes, seed);
    }
    if (ipus == 4) continue;
    try_phases({.ipus = ipus, .code = Location::streaming}, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, 30);
    try_phases({.ipus = ipus, .code = Location::streaming}, tiny("bert-base", 1, 256, 3000), kPhaseModes, 31);
  }
}

// What other IPUs' tiles hold, and these for them, takes room beside every phase, as much as all phases add up to.
TEST(Cuts, OfPhasesThatOtherIpusHoldAreTheBestOfAll) {
  BoundsMet met;
  for (std::int64_t ipus : {1, 2, 4}) {
    for (std::uint64_t seed : {44, 45, 46}) {
      const PhaseKind kind{.ipus = ipus, .uses_remote_tile = true};
      met.add(try_phases(kind, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, seed));
      met.add(try_phases(kind, tiny("bert-base", 1, 256, 3000), kPhaseModes, seed));
    }
    const PhaseKind code{.ipus = ipus, .code = Location::remote_ipu, .uses_remote_tile = true};
    met.add(try_phases(code, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, 47));
    const PhaseKind little{.ipus = ipus, .uses_remote_tile = true, .ddr = true};
    met.add(try_phases(little, tiny("gpt2-small", 2, 128, 4000), kPhaseModes, 48));
    if (ipus == 1) continue;
    const PhaseKind groups{.ipus = ipus, .groups = 2, .uses_remote_tile = true};
    met.add(try_phases(groups, tiny("gpt2-small", 2, 128, 4000), kPhaseModes, 49));
    const PhaseKind twice{.ipus = ipus, .uses_remote_tile = true};
    met.add(try_phases(twice, tiny("t5-small", 1, 64, 4000), {Recompute::layer}, 50));
  }
  EXPECT_GE(met.of, 600);
  EXPECT_GE(met.by_prices, met.of * 2 / 5);
}

TEST(Cuts, OfPhasesWhoseWeightsOrCodeAlonePreloadAreTheBestOfAll) {
  using enum LoadSchedule;
  for (const LoadSchedules load : {LoadSchedules{preload, on_demand}, {on_demand, preload}}) {
    for (std::int64_t ipus : {1, 2}) {
      const PhaseKind kind{.ipus = ipus, .load = load, .code = Location::streaming};
      try_phases(kind, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, 38);
      try_phases(kind, tiny("bert-base", 1, 256, 3000), kPhaseModes, 39);
    }
  }
}

TEST(Cuts, OfPhasesWithLittleStreamingMemoryAreTheBestOfAll) {
  BoundsMet met;
  for (std::uint64_t seed : {32, 33}) {
    for (std::int64_t ipus : {1, 2, 4}) {
      met.add(try_phases({.ipus = ipus, .ddr = true}, tiny("gpt2-small", 2, 128, 4000), {Recompute::layer}, seed));
      met.add(try_phases({.ipus = ipus, .ddr = true}, tiny("bert-base", 1, 256, 3000), kPhaseModes, seed));
    }
    met.add(
        try_phases({.ipus = 2, .groups = 2, .ddr = true}, tiny("bert-base", 1, 256, 3000), {Recompute::layer}, seed));
    met.add(try_phases({.ipus = 2, .load = kPreload, .ddr = true}, tiny("bert-base", 1, 256, 3000), {Recompute::layer},
                       seed));
  }
  EXPECT_GT(met.by_prices, met.by_own_code) << met.of;
}

// Where layers are equal the phases of one are those of the next; where each unit is tabulated on its own they are
// looked for anew: neither finds what the other has missed.
TEST(Cuts, OfPhasesOfEqualLayersAreNoWorseThanOfOthers) {
  World world(small_job(
      "gpt2-small", {{"layers", 24}, {"hidden", 2048}, {"heads", 16}, {"vocabulary", 8000}, {"sequence_length", 256}},
      "ipu-pod16"));
  Tables anew(world.job, world.model, false);
  Draw draw(36);
  int found = 0;
  for (int k = 0; k < 16; ++k) {
    const auto ipus = draw.of<std::int64_t>({1, 2, 4});
    Plan plan = draw_phases(world, draw);
    plan.tensor_parallel = {1, 1};
    plan.pipeline_stages = ipus;
    plan.phase_groups = ipus == 4 && draw.chance(50) ? 2 : 1;
    plan.replicas = 16 / ipus;
    plan.micro_batch = 1;
    plan.replicated_tensor_sharding = {draw.of<std::int64_t>({1, 4}), 1, 4};
    const CutRules rules{.modes = {Recompute::layer}};
    std::vector<Setting> settings;
    std::vector<std::optional<Cuts>> cuts;
    CutLimits limits;
    for (Tables* tables : {&world.tables, &anew}) {
      const Setting& s = settings.emplace_back(tables->table(table_key(plan)), plan, world.job.optimizer, true);
      limits.tile = limits.io_tile = s.limit(), limits.executable = s.executable_limit(), limits.ddr = s.ddr_limit();
      cuts.push_back(cut_phases(s, rules, limits, nullptr));
    }
    for (const std::size_t one : {0U, 1U}) {
      const std::optional<Cuts>&own = cuts[one], &others = cuts[1 - one];
      const Estimate other = others ? evaluate(settings[one], with_cuts(plan, *others)) : Estimate{};
      if (!others || !fits(other, limits)) continue;
      ++found;
      ASSERT_TRUE(own) << describe(settings[one], limits);
      EXPECT_LE(own->cycles, other.cycles) << describe(settings[one], limits);
    }
  }
  EXPECT_GE(found, 16);
}

// Programmes do not look at longer stages where shorter ones take too long.
TEST(Setting, LongerStagesOfPhasesTakeNoLess) {
  Draw draw(43);
  for (const char* model : {"gpt2-small", "bert-base"}) {
    World world(tiny(model, 3, 128, 4000));
    for (int k = 0; k < 20; ++k) {
      const Plan plan = draw_phases(world, draw);
      const Setting setting(world.table(plan), plan, world.job.optimizer, true);
      for (const bool first : {true, false}) {
        for (std::int64_t u = 0; u < setting.units(); ++u) {
          std::int64_t forward = 0, backward = 0;
          for (std::int64_t v = u + 1; v <= setting.units(); ++v) {
            const Setting::Stage x =
                setting.stage(u, v, 0, draw.chance(50) ? Recompute::layer : Recompute::stage, first);
            const bool overlap = setting.moves_overlap();
            ASSERT_GE(x.busy_forward(overlap), forward) << u << " to " << v << " of " << to_json(plan).dump();
            ASSERT_GE(x.busy_backward(overlap), backward) << u << " to " << v << " of " << to_json(plan).dump();
            forward = x.busy_forward(overlap), backward = x.busy_backward(overlap);
          }
        }
      }
    }
  }
}

// Whatever was asked before, with less or more to beat, of this setting or of others.
TEST(PhaseBounds, AreThoseFoundAnew) {
  Draw draw(35);
  World world(tiny("gpt2-small", 2, 128, 4000));
  PhaseBounds bounds;
  std::vector<Plan> plans;
  for (int k = 0; k < 12; ++k) {
    Plan plan = draw_phases(world, draw);
    plan.tensor_parallel = {1, 1};
    plan.pipeline_stages = 2, plan.phase_groups = 1, plan.replicas = 8;
    plan.replicated_tensor_sharding = {draw.of<std::int64_t>({1, 2}), 1, 4};
    plans.push_back(plan);
  }
  int fit = 0, asked = 0;
  for (int k = 0; k < 200; ++k, ++asked) {
    const Plan plan = draw.of(plans);
    const Setting setting(world.table(plan), plan, world.job.optimizer, true);
    CutRules rules;
    rules.modes = draw.chance(50) ? kPhaseModes : std::vector<Recompute>{Recompute::layer};
    const IntegerPin count = draw.of(kPhaseCounts);
    if (draw.chance(50)) rules.phase_count = &count;
    CutLimits limits;
    limits.tile = setting.limit() / draw.of<std::int64_t>({1, 2, 8}), limits.executable = setting.executable_limit();
    limits.io_tile = setting.limit();
    limits.ddr = setting.ddr_limit();
    const std::int64_t any = bound_phases(setting, rules, limits);
    if (any < INT64_MAX) limits.best = draw.of<std::int64_t>({any - 1, any, any + 1, 2 * any, INT64_MAX});
    fit += any < INT64_MAX ? 1 : 0;
    const std::int64_t bound = bounds.bound(setting, rules, limits);
    EXPECT_EQ(bound, bound_phases(setting, rules, limits)) << describe(setting, limits);
    EXPECT_EQ(bounds.bound(setting, rules, limits), bound);
  }
  EXPECT_GE(fit, asked / 3);
}

TEST(Cuts, OfPhasesHonourPinnedStagesAndModes) {
  World world(tiny("gpt2-small", 2, 128, 4000));
  Draw draw(34);
  Plan plan = draw_phases(world, draw);
  plan.tensor_parallel = {1, 1};
  plan.pipeline_stages = 2, plan.phase_groups = 1, plan.replicas = 8;
  plan.replicated_tensor_sharding = {};
  const Setting setting(world.table(plan), plan, world.job.optimizer, true);
  const std::vector<std::int64_t> stages = {0, 2, 5}, phases = {0, 1};
  const std::vector<Recompute> modes = {Recompute::stage, Recompute::layer, Recompute::stage};
  CutRules rules;
  rules.stages = &stages;
  rules.phases = &phases;
  rules.stage_modes = &modes;
  CutLimits limits;
  limits.tile = setting.limit(), limits.executable = setting.executable_limit(), limits.io_tile = setting.limit();
  limits.ddr = setting.ddr_limit();
  const std::optional<Cuts> found = cut_phases(setting, rules, limits, nullptr);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stages, stages);
  EXPECT_EQ(found->phases, phases);
  EXPECT_EQ(found->recompute, modes);
}

}  // namespace
}  // namespace superstep::test
