// SPDX-License-Identifier: Apache-2.0
// What a plan stores, counted by walking the lowered program and every copy of it, against the formula:
// used = bytes x copies, stored = bytes x copies / degree; and the global batch it works on.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

nlohmann::json bert() {
  return test::small_job("bert-base",
                         {{"layers", 4},
                          {"hidden", 256},
                          {"heads", 4},
                          {"ffn", 1024},
                          {"vocabulary", 3000},
                          {"sequence_length", 64},
                          {"masked_tokens", 10}},
                         "ipu-pod16");
}

// The graph's weights on the stages that use them: what the plan asks for, without the lowering.
struct Wanted {
  std::int64_t used = 0;        // bytes x copies, over all IPUs
  std::int64_t parameters = 0;  // elements x copies
  std::int64_t held = 0;        // tensors, counted on each IPU group
};

Wanted wanted(World& world, const Plan& plan) {
  const UnitTable& table = world.table(plan);
  const Graph& graph = table.facts().graph;
  const auto spans = stage_spans(plan, static_cast<std::int64_t>(table.units()));
  Wanted w;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[TensorId(t)].kind != TensorKind::weight) continue;
    std::vector<bool> on(static_cast<std::size_t>(plan.pipeline_stages), false);
    for (const Op& op : graph.ops) {
      if (op.pass != Pass::forward || std::find(op.inputs.begin(), op.inputs.end(), TensorId(t)) == op.inputs.end())
        continue;
      for (const StageSpan& s : spans) {
        if (op.unit.index >= s.begin && op.unit.index < s.end) on[static_cast<std::size_t>(s.ipu)] = true;
      }
    }
    const std::int64_t groups = std::count(on.begin(), on.end(), true);
    const std::int64_t copies = groups * plan.tensor_parallel.size() * plan.replicas;
    const std::int64_t local = on_ipu(table.facts(), table.sharding(), TensorId(t)).value;  // of one of the t
    w.used += local * copies;
    w.parameters += local / 2 * plan.tensor_parallel.size() * plan.replicas;  // a state has one owner stage
    w.held += groups;
  }
  return w;
}

std::int64_t over_all_ipus(const Program& program, const Plan& plan, Bytes Residents::*field) {
  std::int64_t sum = 0;
  for (const std::vector<Residents>& phases : program.residents)
    sum += (phases[0].*field).value * program.compute_tiles;
  return sum * plan.tensor_parallel.size() * plan.replicas;
}

Plan four_stages(std::int64_t t, std::int64_t r) {
  Plan plan;
  plan.tensor_parallel = {t, 1};
  plan.pipeline_stages = 4;
  plan.replicas = r;
  plan.micro_batch = 2;
  plan.gradient_accumulation = 12;
  plan.stages = {0, 4, 7, 10};
  plan.stage_ipu = {0, 1, 2, 3};
  return plan;
}

// A tensor takes whole 8-byte grains on each tile.
std::int64_t padding(const Wanted& w, const Program& program, const Plan& plan) {
  return w.held * 8 * program.compute_tiles * plan.tensor_parallel.size() * plan.replicas;
}

TEST(StoredBytes, OfWeightsAreBytesTimesCopies) {
  World world(bert());
  for (const auto& [t, r] : {std::pair<std::int64_t, std::int64_t>{1, 4}, {2, 2}, {4, 1}}) {
    const Plan plan = four_stages(t, r);
    const Program program = lower(world.table(plan), plan, world.job.optimizer);
    const Wanted w = wanted(world, plan);
    const std::int64_t used = over_all_ipus(program, plan, &Residents::weights);
    EXPECT_GE(used, w.used) << "t=" << t << " r=" << r;
    EXPECT_LE(used, w.used + padding(w, program, plan)) << "t=" << t << " r=" << r;
  }
}

TEST(StoredBytes, OfLargeWeightsDoNotGrowWithTensorParallelism) {
  World world(bert());
  const Wanted whole = wanted(world, four_stages(1, 4)), split = wanted(world, four_stages(4, 1));
  // Only biases and scales are on every IPU of a group.
  EXPECT_NEAR(static_cast<double>(split.used), static_cast<double>(whole.used) / 4,
              0.03 * static_cast<double>(whole.used) / 4);
}

TEST(StoredBytes, OfShardedWeightsAreDividedByTheDegree) {
  World world(bert());
  Plan plan = four_stages(1, 4);
  for (std::int64_t degree : {2, 4}) {
    plan.replicated_tensor_sharding = {degree, 1, degree};
    const Program program = lower(world.table(plan), plan, world.job.optimizer);
    const Wanted w = wanted(world, plan);
    // Beside its shards an IPU joins the weights of one unit while it runs.
    std::int64_t joined = 0;
    for (const StageSpan& s : stage_spans(plan, static_cast<std::int64_t>(world.table(plan).units()))) {
      std::int64_t most = 0;
      for (std::int64_t u = s.begin; u < s.end; ++u) {
        const UnitRow& row = world.table(plan).row(static_cast<std::size_t>(u));
        most = std::max(most, (row.weight_tile + row.borrowed_tile).value);
      }
      joined += most * program.compute_tiles * plan.replicas;
    }
    const std::int64_t stored = over_all_ipus(program, plan, &Residents::weights) - joined;
    EXPECT_GE(stored, w.used / degree) << degree;
    EXPECT_LE(stored, w.used / degree + padding(w, program, plan)) << degree;
  }
}

TEST(StoredBytes, OfOptimizerStateAreDividedByTheDegree) {
  World world(bert());
  Plan plan = four_stages(2, 2);
  for (std::int64_t degree : {1, 2}) {
    plan.replicated_tensor_sharding.optimizer_state = degree;
    const Program program = lower(world.table(plan), plan, world.job.optimizer);
    const Wanted w = wanted(world, plan);
    const std::int64_t bytes = 8 * w.parameters / degree;  // Adam, two moments of 4 B
    const std::int64_t stored = over_all_ipus(program, plan, &Residents::optimizer_state);
    EXPECT_GE(stored, bytes);
    EXPECT_LE(stored, bytes + program.compute_tiles * 4 * plan.ipus());
    plan.location.optimizer_state = Location::streaming;
    const Program away = lower(world.table(plan), plan, world.job.optimizer);
    std::int64_t ddr = 0;
    for (const StreamingUse& d : away.ddr) ddr += d.optimizer_state.value;
    EXPECT_NEAR(static_cast<double>(ddr * plan.tensor_parallel.size() * plan.replicas), static_cast<double>(bytes),
                16.0 * static_cast<double>(plan.ipus()));
    EXPECT_EQ(over_all_ipus(away, plan, &Residents::optimizer_state), 0);
    plan.location.optimizer_state = Location::in_processor;
  }
}

// Micro-batches that a program works through: the repeats around its first forward call.
std::int64_t micro_batches(const Node& n, std::int64_t around) {
  if (n.kind == Node::Kind::repeat) around *= n.micro_batches;
  if (n.kind == Node::Kind::call) return around;
  for (const Node& c : n.children) {
    if (const std::int64_t found = micro_batches(c, around); found > 0) return found;
  }
  return 0;
}

TEST(GlobalBatch, IsWhatTheProgramWorksThrough) {
  World world(bert());
  test::Draw draw(5);
  for (int i = 0; i < 30; ++i) {
    const Plan plan = i % 2 ? test::draw_phases(world, draw) : test::draw_pipeline(world, draw);
    const Program program = lower(world.table(plan), plan, world.job.optimizer);
    EXPECT_EQ(micro_batches(program.root, 1) * plan.micro_batch * plan.replicas, plan.global_batch()) << label(plan);
    EXPECT_EQ(world.tables.facts(plan.micro_batch).graph.micro_batch, plan.micro_batch);
  }
}

}  // namespace
}  // namespace superstep
