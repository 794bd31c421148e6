// SPDX-License-Identifier: Apache-2.0
// How fast plans are evaluated, and what stands before and after it: tile plans, tables, lowering,
// timeline, cuts.
#include <benchmark/benchmark.h>

#include <memory>

#include "planner/cuts/cuts.h"
#include "planner/search/search.h"

namespace superstep {
namespace {

struct World {
  explicit World(const std::string& name)
      : job(load_job(SUPERSTEP_SOURCE "/data/jobs/" + name + ".json")),
        model(job.machine, load_calibration()),
        tables(job, model) {}
  Job job;
  CostModel model;
  Tables tables;
};

World& bert() {
  static World world("bert-large-pod16");
  return world;
}
World& gpt3() {
  static World world("gpt3-175b-pod256");
  return world;
}

// Embedding and 3 layers, 7, 7, 7, and the head back on IPU 0.
Plan bert_plan() {
  Plan p;
  p.pipeline_stages = p.replicas = 4;
  p.micro_batch = 2;
  p.gradient_accumulation = 192;
  p.stages = {0, 10, 31, 52, 73};
  p.stage_ipu = {0, 1, 2, 3, 0};
  p.replicated_tensor_sharding.optimizer_state = 4;
  p.location.optimizer_state = Location::streaming;
  p.available_memory_proportion = 0.25;
  return p;
}

// Phases of eight stages, each a unit of a layer.
Plan gpt3_plan() {
  Plan p;
  p.tensor_parallel = {8, 1};
  p.pipeline_stages = 8;
  p.replicas = 4;
  p.gradient_accumulation = 128;
  p.stages.clear(), p.stage_ipu.clear(), p.phases.clear();
  const auto units = static_cast<std::int64_t>(gpt3().tables.facts(1).graph.units.size());
  for (std::int64_t u = 0; u < units; ++u) {
    if (u % 8 == 0) p.phases.push_back(u);
    p.stages.push_back(u);
    p.stage_ipu.push_back(u % 8);
  }
  p.location.weights = p.location.optimizer_state = p.location.activations = Location::streaming;
  p.activation_sharding = ActivationSharding::throughout;
  p.available_memory_proportion = 0.25;
  return p;
}

void note_evaluations(benchmark::State& state) {
  state.counters["plans/s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void evaluate_plan(benchmark::State& state, World& world, const Plan& plan) {
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, plan.phased());
  Evaluator evaluator(setting);
  for (auto _ : state) benchmark::DoNotOptimize(evaluator(plan));
  note_evaluations(state);
}
void evaluate_bert_large_pipeline(benchmark::State& state) { evaluate_plan(state, bert(), bert_plan()); }
BENCHMARK(evaluate_bert_large_pipeline);
void evaluate_gpt3_phases(benchmark::State& state) { evaluate_plan(state, gpt3(), gpt3_plan()); }
BENCHMARK(evaluate_gpt3_phases);

// 96 equal phases, embedding and head apart: a layer each, its units in three stages.
Plan gpt3_layers() {
  Plan p = gpt3_plan();
  p.stages = {0}, p.stage_ipu = {0}, p.phases = {0};
  for (std::int64_t i = 1; i < 288; ++i) {
    if (i % 3 == 0) p.phases.push_back(i);
    p.stages.push_back(i + 1);
    p.stage_ipu.push_back(i % 3);
  }
  return p;
}
void evaluate_gpt3_equal_phases(benchmark::State& state) { evaluate_plan(state, gpt3(), gpt3_layers()); }
BENCHMARK(evaluate_gpt3_equal_phases);

// A plan of which nothing is known yet: its stages are summed up unit by unit.
void evaluate_once(benchmark::State& state, World& world, const Plan& plan) {
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, plan.phased());
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(setting, plan));
  note_evaluations(state);
}
void evaluate_once_bert_large_pipeline(benchmark::State& state) { evaluate_once(state, bert(), bert_plan()); }
BENCHMARK(evaluate_once_bert_large_pipeline);
void evaluate_once_gpt3_phases(benchmark::State& state) { evaluate_once(state, gpt3(), gpt3_plan()); }
BENCHMARK(evaluate_once_gpt3_phases);

// The same plans without tables: each lowered to its program and timed. What the tables are compared with.
void evaluate_by_lowering(benchmark::State& state, World& world, const Plan& plan) {
  const UnitTable& table = world.tables.table(table_key(plan));
  for (auto _ : state) benchmark::DoNotOptimize(cost(lower(table, plan, world.job.optimizer), world.model));
  note_evaluations(state);
}
void lower_and_time_bert_large_pipeline(benchmark::State& state) { evaluate_by_lowering(state, bert(), bert_plan()); }
BENCHMARK(lower_and_time_bert_large_pipeline)->Unit(benchmark::kMicrosecond);
void lower_and_time_gpt3_phases(benchmark::State& state) { evaluate_by_lowering(state, gpt3(), gpt3_plan()); }
BENCHMARK(lower_and_time_gpt3_phases)->Unit(benchmark::kMicrosecond);

// What is made ready for evaluating many plans of a setting.
void make_evaluator(benchmark::State& state) {
  World& world = bert();
  const Plan plan = bert_plan();
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, false);
  for (auto _ : state) benchmark::DoNotOptimize(Evaluator(setting));
}
BENCHMARK(make_evaluator)->Unit(benchmark::kMicrosecond);

// A setting made ready, as the search does once per setting.
void make_setting(benchmark::State& state) {
  World& world = bert();
  const Plan plan = bert_plan();
  const UnitTable& table = world.tables.table(table_key(plan));
  for (auto _ : state) benchmark::DoNotOptimize(Setting(table, plan, world.job.optimizer, false));
}
BENCHMARK(make_setting)->Unit(benchmark::kMicrosecond);

void tile_plan_search(benchmark::State& state) {
  const Machine& machine = bert().job.machine;
  const ProductShape shape{
      .batch = state.range(0), .rows = state.range(1), .columns = state.range(2), .contracted = state.range(3)};
  std::size_t points = 0;
  for (auto _ : state)
    points = product_front(shape, machine.chip.tiles, machine.chip, bert().model.calibration()).size();
  state.counters["front"] = static_cast<double>(points);
}
BENCHMARK(tile_plan_search)
    ->Unit(benchmark::kMillisecond)
    ->Args({1, 1024, 4096, 1024})    // BERT-Large feed-forward, micro-batch 2
    ->Args({32, 512, 512, 64})       // its attention scores
    ->Args({1, 152, 30912, 1024})    // its masked-token head
    ->Args({1, 2048, 6144, 12288});  // GPT-3 feed-forward over t = 8

void tabulate_units(benchmark::State& state) {
  const Plan plan = bert_plan();
  for (auto _ : state) {
    Tables tables(bert().job, bert().model);
    benchmark::DoNotOptimize(&tables.table(table_key(plan)));
  }
}
BENCHMARK(tabulate_units)->Unit(benchmark::kMillisecond);

void lower_plan(benchmark::State& state, World& world, const Plan& plan) {
  const UnitTable& table = world.tables.table(table_key(plan));
  for (auto _ : state) benchmark::DoNotOptimize(lower(table, plan, world.job.optimizer));
}
void lower_bert_large(benchmark::State& state) { lower_plan(state, bert(), bert_plan()); }
BENCHMARK(lower_bert_large)->Unit(benchmark::kMicrosecond);
void lower_gpt3(benchmark::State& state) { lower_plan(state, gpt3(), gpt3_plan()); }
BENCHMARK(lower_gpt3)->Unit(benchmark::kMicrosecond);

void time_plan(benchmark::State& state, World& world, const Plan& plan) {
  const Program program = lower(world.tables.table(table_key(plan)), plan, world.job.optimizer);
  for (auto _ : state) benchmark::DoNotOptimize(cost(program, world.model));
}
void timeline_bert_large(benchmark::State& state) { time_plan(state, bert(), bert_plan()); }
BENCHMARK(timeline_bert_large)->Unit(benchmark::kMicrosecond);
void timeline_gpt3(benchmark::State& state) { time_plan(state, gpt3(), gpt3_plan()); }
BENCHMARK(timeline_gpt3)->Unit(benchmark::kMicrosecond);

void cut_bert_large(benchmark::State& state) {
  World& world = bert();
  const Plan plan = bert_plan();
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, false);
  CutLimits limits;
  limits.tile = setting.limit(), limits.executable = setting.executable_limit(), limits.io_tile = setting.limit();
  limits.ddr = setting.ddr_limit();
  CutRules rules;
  rules.wrap = state.range(0) != 0;
  bool found = false;
  for (auto _ : state) found = cut_pipeline(setting, rules, limits).has_value();
  state.counters["found"] = found;
}
BENCHMARK(cut_bert_large)->Unit(benchmark::kMillisecond)->Arg(0)->Arg(1);

void cut_gpt3(benchmark::State& state) {
  World& world = gpt3();
  Plan plan = gpt3_plan();
  plan.available_memory_proportion = 0.1;
  plan.replicated_tensor_sharding = {1, 1, 4};
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, true);
  CutLimits limits;
  limits.tile = setting.limit(), limits.executable = setting.executable_limit(), limits.io_tile = setting.limit();
  limits.ddr = setting.ddr_limit();
  bool found = false;
  for (auto _ : state) found = cut_phases(setting, CutRules{}, limits, nullptr).has_value();
  state.counters["found"] = found;
}
BENCHMARK(cut_gpt3)->Unit(benchmark::kMillisecond);

// The 96 layers of GPT-3, three units each, in a pipeline on tiles with room for any cut: stages, micro-batches for
// each of them, and whether fill and drain take full cycles.
bool cut_layers(World& world, std::int64_t stages, std::int64_t micro_batches) {
  Plan plan;
  plan.tensor_parallel = {4, 1};
  plan.pipeline_stages = stages;
  plan.gradient_accumulation = micro_batches;
  const Setting setting(world.tables.table(table_key(plan)), plan, world.job.optimizer, false);
  CutLimits limits;
  limits.tile = limits.executable = limits.io_tile = limits.ddr = std::int64_t{1} << 50;
  CutRules rules;
  rules.modes = {Recompute::layer};
  return cut_pipeline(setting, rules, limits).has_value();
}

void cut_96_layers(benchmark::State& state) {
  bool found = false;
  for (auto _ : state) found = cut_layers(gpt3(), state.range(0), state.range(0) * state.range(1));
  state.counters["found"] = found;
}
BENCHMARK(cut_96_layers)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"stages", "each"})
    ->ArgsProduct({{4, 8, 16, 32, 64}, {2, 4, 16}});

// The same in every number of stages that 256 IPUs offer, one after the other, or in every one there is; 256
// micro-batches, full cycles.
void cut_96_layers_in_all(benchmark::State& state) {
  std::int64_t found = 0;
  for (auto _ : state) {
    found = 0;
    for (std::int64_t stages = 2; stages <= 96; stages += state.range(0) != 0 ? 1 : stages)
      found += cut_layers(gpt3(), stages, 256);
  }
  state.counters["found"] = static_cast<double>(found);
}
BENCHMARK(cut_96_layers_in_all)->Unit(benchmark::kMillisecond)->ArgName("every")->Arg(0)->Arg(1);

}  // namespace
}  // namespace superstep
