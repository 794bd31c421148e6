// SPDX-License-Identifier: Apache-2.0
// Models too large to list all plans of: plans are drawn, near the best one and far from it, and their cuts changed for
// as long as that makes them better. None is better than the best, which does not come from a search like this.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "planner/search/search.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;

json kib(std::int64_t n) { return {{"value", std::to_string(n) + " KiB"}, {"source", "drawn"}}; }

json job_of(json model, json machine, std::int64_t batch, bool training = true, json plan = json::object()) {
  json job = {{"model", std::move(model)}, {"machine", std::move(machine)}, {"batch", {{"global", batch}}}};
  job["task"] = training ? "training" : "inference";
  if (training) job["optimizer"] = {{"kind", "adam"}};
  job["plan"] = std::move(plan);
  return job;
}

// With so much memory on a tile.
json small(const char* machine, std::int64_t tile, std::int64_t executable) {
  return {{"base", machine},
          {"override", {{"chip", {{"tile_memory", kib(tile)}, {"executable_memory", kib(executable)}}}}}};
}

std::vector<json> jobs() {
  return {
      job_of({{"zoo", "t5-base"}}, "ipu-pod4", 64),
      job_of({{"zoo", "t5-small"}}, "bow-pod16", 64, false),
      job_of({{"zoo", "t5-xl"}, {"layers", 1}}, "ipu-pod16", 96),
      job_of({{"zoo", "gptj-6b"}}, "ipu-pod4", 16),
      job_of({{"zoo", "gptj-6b"}}, "bow-pod16", 16, false),
      job_of({{"zoo", "gpt3-2.7b"}, {"layers", 6}}, "ipu-pod4", 32),
      job_of({{"zoo", "bert-base"}, {"layers", 6}}, small("ipu-pod4", 200, 100), 64),
      job_of({{"zoo", "bert-large"}, {"layers", 4}}, small("bow-pod4", 256, 128), 96),
      job_of({{"zoo", "gpt2-small"}, {"layers", 6}}, small("ipu-pod16", 160, 80), 64, true,
             {{"location", {{"weights", "streaming"}}}}),
      job_of({{"zoo", "t5-small"}, {"layers", 3}}, small("ipu-pod4", 128, 128), 32),
      job_of({{"zoo", "conformer-m"}, {"layers", 4}}, small("bow-pod4", 160, 160), 32),
      job_of({{"zoo", "vit-base"}, {"layers", 6}}, small("ipu-pod4", 160, 80), 64, true, {{"phase_groups", 2}}),
      job_of({{"zoo", "resnet50"}}, small("ipu-pod4", 256, 128), 64),
      job_of({{"zoo", "efficientnet-b0"}}, small("ipu-pod4", 320, 160), 64),
  };
}

// Numbers of units: of each stage of each phase, or of each stage of a pipeline.
struct Cut {
  std::vector<std::vector<std::int64_t>> units;
  std::vector<Recompute> modes;  // by stage

  std::vector<std::int64_t*> stages() {
    std::vector<std::int64_t*> all;
    for (auto& phase : units) {
      for (std::int64_t& stage : phase) all.push_back(&stage);
    }
    return all;
  }
};

std::vector<std::int64_t> evenly(std::int64_t units, std::int64_t stages) {
  stages = std::min(stages, units);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < stages; ++i) out.push_back((i + 1) * units / stages - i * units / stages);
  return out;
}

Cut cut_of(const Plan& plan, std::int64_t units) {
  Cut cut;
  for (std::size_t i = 0, j = 0; i < plan.stages.size(); ++i) {
    if (j < plan.phases.size() && plan.phases[j] == static_cast<std::int64_t>(i)) cut.units.emplace_back(), ++j;
    cut.units.back().push_back((i + 1 < plan.stages.size() ? plan.stages[i + 1] : units) - plan.stages[i]);
    cut.modes.push_back(plan.recompute[std::min(i, plan.recompute.size() - 1)]);
  }
  return cut;
}

void put(const Cut& cut, std::int64_t depth, Plan& plan) {
  plan.stages.clear(), plan.stage_ipu.clear(), plan.phases.clear();
  std::int64_t u = 0;
  for (std::size_t j = 0; j < cut.units.size(); ++j) {
    plan.phases.push_back(static_cast<std::int64_t>(plan.stages.size()));
    const std::int64_t group = plan.phase_groups == 2 && j % 2 == 1 ? depth : 0;
    for (std::size_t i = 0; i < cut.units[j].size(); ++i) {
      plan.stages.push_back(u);
      plan.stage_ipu.push_back(group + static_cast<std::int64_t>(i) % depth);  // one stage more returns to IPU 0
      u += cut.units[j][i];
    }
  }
  plan.recompute = cut.modes;
}

// What a job's plans are drawn from, and how good they are.
class Climb {
 public:
  Climb(World& world, const Plan* best, double best_time, std::uint64_t seed)
      : world_(world), best_(best), best_time_(best_time), draw_(seed) {
    for (const Cell& cell : cells(world.job, world.tables.statistics_group())) {
      const bool near = best && cell.mesh == best->tensor_parallel && cell.stages == best->pipeline_stages &&
                        cell.replicas == best->replicas && cell.micro_batch == best->micro_batch;
      if (near) near_.push_back(cell);
      if (!best || cell.micro_batch <= 4 * best->micro_batch) all_.push_back(cell);
    }
  }

  void run(int starts) {
    for (int i = 0; i < starts; ++i) {
      if (const std::optional<Plan> plan = draw_plan()) climb(*plan);
    }
  }
  std::int64_t evaluations = 0;
  std::int64_t fitting = 0, as_good = 0;  // climbs that came to a plan that fits; from elsewhere to one as good
  std::optional<Plan> better;

 private:
  struct Height {
    std::int64_t over;  // bytes that do not fit
    double time;        // cycles a sample
    auto operator<=>(const Height&) const = default;
  };
  static Height height(const Setting& s, const Plan& p, const Estimate& e) {
    const auto over = [](std::int64_t bytes, std::int64_t limit) { return std::max<std::int64_t>(0, bytes - limit); };
    return {over(e.tile_peak, s.limit()) + over(e.executable, s.executable_limit()) + over(e.waiting, s.limit()) +
                over(e.ddr, s.ddr_limit()) / s.tiles(),
            static_cast<double>(e.cycles) / static_cast<double>(p.global_batch())};
  }

  // A setting of the declared space, often like the best plan's; with the best plan's cuts, or others.
  std::optional<Plan> draw_plan() {
    const Cell& cell = !near_.empty() && draw_.chance(60) ? draw_.of(near_) : draw_.of(all_);
    const std::vector<SettingSpace> spaces = setting_spaces(world_.job, cell, false);
    if (spaces.empty()) return {};
    const SettingSpace& space = draw_.of(spaces);
    Plan plan;
    if (!draw_setting(space, plan)) return {};
    const auto units = static_cast<std::int64_t>(world_.tables.facts(plan.micro_batch).graph.units.size());
    const bool alike = best_ && best_->phased() == space.phased && best_->pipeline_stages == plan.pipeline_stages &&
                       best_->phase_groups == plan.phase_groups;
    from_best_ = alike && draw_.chance(50);
    depth_ = plan.pipeline_stages / plan.phase_groups;
    if (units < depth_) return {};
    put(from_best_ ? cut_of(*best_, units) : draw_cut(space.phased, units), depth_, plan);
    if (plan.phased() != space.phased || !world_.problem(plan).empty()) return {};
    return plan;
  }

  bool draw_setting(const SettingSpace& space, Plan& plan) {
    const auto lengths = space.lengths();
    std::array<std::size_t, SettingSpace::kAxes> at{};
    for (int tries = 0; tries < 50; ++tries) {
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        at[axis] = static_cast<std::size_t>(draw_.below(static_cast<std::int64_t>(lengths[axis])));
      if (best_ && draw_.chance(70)) bring_near(space, at);
      if (!space.legal(at)) continue;
      plan = space.plan(at);
      if (world_.job.pins.available_memory_proportion.empty())
        plan.available_memory_proportion =
            best_ && draw_.chance(50)
                ? best_->available_memory_proportion
                : Proportion(draw_.of<double>({0.08, 0.15, 0.25, 0.5, 0.75}),
                             draw_.of<Live>({Live::none, Live::unit, Live::layer, Live::weights}));
      return true;
    }
    return false;
  }

  void bring_near(const SettingSpace& space, std::array<std::size_t, SettingSpace::kAxes>& at) {
    const auto take = [&](SettingSpace::Axis axis, const auto& list, const auto& value) {
      const auto found = std::find(list.begin(), list.end(), value);
      if (found != list.end() && draw_.chance(80)) at[axis] = static_cast<std::size_t>(found - list.begin());
    };
    const auto& degrees = best_->replicated_tensor_sharding;
    take(SettingSpace::load_axis, space.loads, best_->load);
    take(SettingSpace::stash_axis, space.stashes, Stash{best_->location.activations, best_->activation_sharding});
    take(SettingSpace::weight_axis, space.weights, Storage{best_->location.weights, degrees.weights});
    take(SettingSpace::gradient_axis, space.gradients, Storage{best_->location.gradients, degrees.gradients});
    take(SettingSpace::state_axis, space.states, Storage{best_->location.optimizer_state, degrees.optimizer_state});
    take(SettingSpace::prefetch_depth_axis, space.prefetch_depths, best_->prefetch_depth);
    take(SettingSpace::code_axis, space.codes, best_->location.code);
  }

  std::vector<Recompute> modes(bool phased) const {
    if (!world_.tables.training()) return {Recompute::none};
    if (phased) return {Recompute::layer, Recompute::stage};
    return {Recompute::none, Recompute::layer, Recompute::stage};
  }

  Cut draw_cut(bool phased, std::int64_t units) {
    const std::int64_t phases = phased ? 2 + draw_.below(std::max<std::int64_t>(1, units / depth_)) : 1;
    const std::int64_t more = !phased && depth_ > 1 && units > depth_ && draw_.chance(40) ? 1 : 0;
    Cut cut;
    for (const std::int64_t n : evenly(units, phases)) cut.units.push_back(evenly(n, depth_ + more));
    cut.modes.assign(cut.stages().size(), draw_.of(modes(phased)));
    return cut;
  }

  // False: not possible here.
  bool change(Cut& cut, bool phased) {
    const std::vector<std::int64_t*> stages = cut.stages();
    const std::int64_t kind = draw_.below(phased ? 9 : 6);
    const auto some = [&](const auto& list) { return static_cast<std::size_t>(draw_.below(std::ssize(list))); };
    if (kind < 4) {  // units from one stage to another, mostly to its neighbour
      const std::size_t from = some(stages);
      const std::size_t to =
          draw_.chance(70) ? (from + (draw_.chance(50) ? 1 : stages.size() - 1)) % stages.size() : some(stages);
      const std::int64_t n = draw_.chance(70) ? 1 : 1 + draw_.below(4);
      if (from == to || *stages[from] <= n) return false;
      *stages[from] -= n, *stages[to] += n;
      return true;
    }
    if (kind < 6) {
      cut.modes[some(cut.modes)] = draw_.of(modes(phased));
      return true;
    }
    const std::size_t j = some(cut.units);
    const std::int64_t n = std::accumulate(cut.units[j].begin(), cut.units[j].end(), std::int64_t{0});
    if (kind == 6) {  // a phase in two
      if (n < 2) return false;
      const std::int64_t first = 1 + draw_.below(n - 1);
      cut.units[j] = evenly(first, depth_);
      cut.units.insert(cut.units.begin() + static_cast<std::ptrdiff_t>(j) + 1, evenly(n - first, depth_));
    } else if (kind == 7) {  // two phases in one
      if (cut.units.size() < 3 || j + 1 == cut.units.size()) return false;
      const auto next = cut.units.begin() + static_cast<std::ptrdiff_t>(j) + 1;
      cut.units[j] = evenly(n + std::accumulate(next->begin(), next->end(), std::int64_t{0}), depth_);
      cut.units.erase(next);
    } else {  // more stages, or fewer
      cut.units[j] = evenly(n, 1 + draw_.below(depth_));
    }
    cut.modes.resize(cut.stages().size(), cut.modes.back());
    return true;
  }

  void climb(Plan plan) {
    const Setting setting(world_.table(plan), plan, world_.job.optimizer, plan.phased());
    Evaluator evaluate(setting);
    Cut here = cut_of(plan, setting.units());
    Height reached = height(setting, plan, evaluate(plan));
    for (int stale = 0; stale < 300; ++stale) {
      Cut there = here;
      bool changed = true;
      for (std::int64_t i = draw_.below(3); i >= 0 && changed; --i) changed = change(there, plan.phased());
      if (!changed) continue;
      put(there, depth_, plan);
      const Height now = height(setting, plan, evaluate(plan));
      ++evaluations;
      if (now > reached) continue;
      if (now < reached) stale = 0;
      reached = now, here = std::move(there);
      if (now.over == 0 && (!best_ || now.time < best_time_) && world_.problem(plan).empty()) {
        better = plan;
        return;
      }
    }
    fitting += reached.over == 0 ? 1 : 0;
    as_good += reached.over == 0 && reached.time <= best_time_ && !from_best_ ? 1 : 0;
  }

  World& world_;
  const Plan* best_;  // null: nothing fits
  const double best_time_;
  Draw draw_;
  std::vector<Cell> near_, all_;  // cells: the best plan's but for placement and groups; all
  std::int64_t depth_ = 1;        // stages of a phase, or of the pipeline
  bool from_best_ = false;
};

TEST(ClimbLong, FindsNoBetterPlan) {
  std::int64_t evaluations = 0, fitting = 0, reached = 0;
  for (const json& as_json : jobs()) {
    World world(as_json);
    SearchOptions options;
    options.top = 1, options.pareto = false, options.find_fix = false;
    const SearchResult result = search(world.tables, options);
    ASSERT_FALSE(result.best.empty()) << as_json;
    EXPECT_TRUE(result.stats.optimal) << as_json;
    const Candidate& best = result.best[0];
    Climb climb(world, &best.plan,
                static_cast<double>(best.estimate.cycles) / static_cast<double>(best.plan.global_batch()), 1);
    climb.run(1600);
    EXPECT_FALSE(climb.better) << as_json << "\n" << to_json(*climb.better) << "\ninstead of\n" << to_json(best.plan);
    evaluations += climb.evaluations;
    fitting += climb.fitting;
    reached += climb.as_good > 0 ? 1 : 0;
  }
  // The climbs are worth something: they come to plans that fit, and from elsewhere to the best one.
  EXPECT_GT(evaluations, 1000000);
  EXPECT_GT(fitting, 2000);
  EXPECT_GE(reached, 5);
}

// Tiles of 140 KiB, on which thousands of settings that keep something on other IPUs' tiles just do not fit. No kind
// that was given up counts where only the best plan is asked for.
TEST(ClimbLong, ProvesTheBestWhereFewFit) {
  World world(job_of({{"zoo", "t5-small"}, {"layers", 4}}, small("ipu-pod4", 140, 140), 32));
  SearchOptions options;
  options.pareto = false, options.find_fix = false;
  const SearchResult result = search(world.tables, options);
  EXPECT_TRUE(result.stats.optimal);
  EXPECT_LT(std::ssize(result.best), options.top);
  options.top = 1;
  EXPECT_EQ(search(world.tables, options).stats.kinds_left, 0);
}

}  // namespace
}  // namespace superstep::test
