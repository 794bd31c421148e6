// SPDX-License-Identifier: Apache-2.0
// Cells that are left out for the sake of another placement.
#include "planner/search/cell_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/cost/evaluate.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::Draw;
using test::World;

Cell cell_of(const Plan& plan) {
  return {plan.tensor_parallel,
          plan.pipeline_stages,
          plan.replicas,
          plan.micro_batch,
          plan.gradient_accumulation,
          plan.placement,
          plan.replicated_tensor_sharding.groups};
}

std::int64_t cycles_of(World& world, const Plan& plan) {
  return evaluate(Setting(world.table(plan), plan, world.job.optimizer, plan.phased()), plan).cycles;
}

// Any plan of a cell, not its best ones alone.
TEST(CellBounds, DominatedPlacementsHaveNoFasterPlan) {
  Draw draw(7);
  World world(
      test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}}, "ipu-pod16"));
  const CellBounds bounds(world.tables);
  int dominated = 0, others = 0;
  for (int k = 0; k < 60; ++k) {
    Plan plan = k % 2 == 0 ? test::draw_pipeline(world, draw) : test::draw_phases(world, draw);
    const Locations& at = plan.location;
    for (const Location l : {at.weights, at.gradients, at.optimizer_state, at.activations}) {
      if (l == Location::remote_ipu || l == Location::remote_machine) plan.location = {};
    }
    if (plan.phased()) plan.location.weights = plan.location.optimizer_state = Location::streaming;
    std::vector<Plan> placed;
    for (const Placement p : placements(plan.tensor_parallel.size(), plan.pipeline_stages, plan.replicas)) {
      plan.placement = p;
      placed.push_back(plan);
    }
    for (const Plan& a : placed) {
      for (const Plan& b : placed) {
        if (a.placement == b.placement) continue;
        const bool is_dominated = bounds.is_dominated(cell_of(a), cell_of(b));
        ++(is_dominated ? dominated : others);
        if (is_dominated) {
          EXPECT_GE(cycles_of(world, a), cycles_of(world, b)) << label(a) << " and " << name_of(b.placement);
        }
      }
    }
  }
  EXPECT_GT(dominated, 20);
  EXPECT_GT(others, 20);
}

// Before there are tables, and even a graph: micro-batches that fit nowhere.
TEST(CellBounds, LeaveOutWhatTablesWould) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}, {"sequence_length", 256}},
      {{"base", "ipu-pod16"}, {"override", {{"chip", {{"tile_memory", "72 KiB"}, {"executable_memory", "72 KiB"}}}}}});
  job["batch"] = {{"global", 256}};
  World world(job);
  CellBounds bounds(world.tables);
  const std::vector<Cell> list = cells(world.job);
  bounds.prepare(list, 1);
  int left_out = 0, by_tables = 0;
  for (const Cell& cell : list) {
    if (bounds.bound_without_tables(cell, Execution::phases) == INT64_MAX) {
      ++left_out;
      EXPECT_EQ(bounds.bound_of_step(cell, Execution::phases, CellBounds::Step::times).least, INT64_MAX)
          << cell.mesh.size() << " IPUs, m=" << cell.micro_batch;
    } else if (bounds.bound_of_step(cell, Execution::phases, CellBounds::Step::all_room).least == INT64_MAX) {
      ++by_tables;
    }
  }
  EXPECT_GT(left_out, std::ssize(list) / 10);
  EXPECT_LT(by_tables, left_out / 2);
  EXPECT_LT(left_out + by_tables, std::ssize(list));
}

// Bounds that follow from two smaller micro-batches are no higher than those of the graph itself, and of most models
// the same.
TEST(CellBounds, LargerMicroBatchesFollowFromSmallerOnes) {
  int bounded = 0, same = 0;
  for (const auto& [zoo, sizes] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"gpt2-small", {{"layers", 2}}},
                                                           {"bert-base", {{"layers", 2}}},
                                                           {"t5-small", {{"layers", 2}}},
                                                           {"vit-base", {{"layers", 2}}},
                                                           {"resnet50", nlohmann::json::object()},
                                                           {"lstm", nlohmann::json::object()}}) {
    nlohmann::json job = test::small_job(zoo, sizes, "ipu-pod4");
    job["batch"] = {{"global", 96}};
    World world(job);
    const std::vector<Cell> list = cells(world.job, world.tables.statistics_group());
    CellBounds grown(world.tables), made(world.tables);
    grown.prepare(list, 1);
    made.prepare(list, 1, true);
    for (const Cell& cell : list) {
      for (const Execution execution : kExecutions) {
        const std::int64_t least = grown.bound_without_tables(cell, execution),
                           of_graph = made.bound_without_tables(cell, execution);
        EXPECT_LE(least, of_graph) << zoo << " on " << cell.mesh.size() << " IPUs, m=" << cell.micro_batch;
        ++bounded;
        same += least == of_graph ? 1 : 0;
      }
    }
  }
  EXPECT_GT(bounded, 200);
  EXPECT_GT(same, bounded * 9 / 10);
}

// Where few replicas may share an optimiser's state, what it takes to fetch it is part of the bound.
TEST(CellBounds, KnowHowManyMayShareAState) {
  nlohmann::json job =
      test::small_job("gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}}, "ipu-pod16");
  job["batch"] = {{"global", 64}};
  World free(job);
  job["plan"] = {{"replicated_tensor_sharding", {{"optimizer_state", 1}}}};
  World pinned(job);
  const std::vector<Cell> list = cells(pinned.job);
  CellBounds usual(free.tables), bounds(pinned.tables);
  usual.prepare(list, 1);
  bounds.prepare(list, 1);
  int tighter = 0, plans = 0;
  for (const Cell& cell : list) {
    const std::int64_t before = usual.bound_without_tables(cell, Execution::phases),
                       least = bounds.bound_without_tables(cell, Execution::phases);
    EXPECT_GE(least, before);
    tighter += cell.replicas > 1 && least > before ? 1 : 0;
  }
  EXPECT_GT(tighter, 20);
  Draw draw(11);
  while (plans < 40) {
    Plan plan = test::draw_phases(pinned, draw);
    plan.location = {};
    plan.location.weights = plan.location.optimizer_state = Location::streaming;
    plan.replicated_tensor_sharding.weights = plan.replicated_tensor_sharding.optimizer_state = 1;
    const Cell cell = cell_of(plan);
    if (std::ranges::none_of(list, [&](const Cell& c) { return c.micro_batch == cell.micro_batch; })) continue;
    CellBounds of_cell(pinned.tables);
    of_cell.prepare({cell}, 1);
    const std::int64_t cycles = cycles_of(pinned, plan);
    EXPECT_LE(of_cell.bound_without_tables(cell, Execution::phases), cycles) << label(plan);
    EXPECT_LE(of_cell.bound_of_step(cell, Execution::phases, CellBounds::Step::times).least, cycles) << label(plan);
    ++plans;
  }
}

}  // namespace
}  // namespace superstep
