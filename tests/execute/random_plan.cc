// SPDX-License-Identifier: Apache-2.0
#include "random_plan.h"
#include "model/units.h"

#include <algorithm>
#include <functional>

#include "model/graph/samples.h"
#include "model/machine/load_machine.h"

namespace superstep {
namespace {

constexpr std::int64_t kIpus = 8;

void draw_degrees(Dice& dice, Plan& plan, std::int64_t units) {
  do {
    plan.tensor_parallel =
        dice.of<TensorParallel>({{1, 1}, {1, 1}, {2, 1}, {2, 1}, {4, 1}, {2, 2}, {1, 2}, {4, 2}, {3, 1}});
    plan.pipeline_stages = dice.of<std::int64_t>({1, 1, 2, 2, 3, 4});
    plan.replicas = dice.of<std::int64_t>({1, 1, 2, 2, 3, 4});
  } while (plan.ipus() > kIpus || plan.pipeline_stages > units);
  plan.micro_batch = 1 + dice.below(3);
}

// `count` runs of 1 .. `units` units; a stage takes at least one.
std::vector<std::int64_t> draw_cuts(Dice& dice, std::int64_t units, std::int64_t count) {
  std::vector<std::int64_t> cuts(at(units - 1));
  for (std::int64_t u = 1; u < units; ++u) cuts[at(u - 1)] = u;
  while (static_cast<std::int64_t>(cuts.size()) > count - 1)
    cuts.erase(cuts.begin() + dice.below(static_cast<std::int64_t>(cuts.size())));
  cuts.insert(cuts.begin(), 0);
  return cuts;
}

void draw_pipeline(Dice& dice, Plan& plan, std::int64_t units, bool training) {
  const std::int64_t p = plan.pipeline_stages, wrap = p > 1 && units > p && dice.one_in(3) ? 1 : 0;
  plan.stages = draw_cuts(dice, units, p + wrap);
  plan.stage_ipu.clear();
  for (std::int64_t s = 0; s < p + wrap; ++s) plan.stage_ipu.push_back(s % p);
  plan.schedule = dice.of<Schedule>({Schedule::sequential, Schedule::interleaved, Schedule::grouped});
  const std::int64_t least = training && plan.schedule != Schedule::sequential ? 2 * (p + wrap) - 1 : 1;
  plan.gradient_accumulation = least + dice.below(4);
  plan.recompute.clear();
  const bool one = dice.one_in(2);
  for (std::int64_t s = 0; s < (one ? 1 : p + wrap); ++s)
    plan.recompute.push_back(dice.of<Recompute>({Recompute::none, Recompute::layer, Recompute::stage}));
}

// Phases of 1 .. p stages each, which take turns where there are two groups of IPUs.
void draw_phases(Dice& dice, Plan& plan, std::int64_t units) {
  plan.phase_groups = plan.pipeline_stages % 2 == 0 && dice.one_in(2) ? 2 : 1;
  const std::int64_t depth = plan.pipeline_stages / plan.phase_groups;
  plan.stages.clear(), plan.stage_ipu.clear(), plan.phases.clear(), plan.recompute.clear();
  std::int64_t stages = 0;
  const std::int64_t most = 1 + dice.below(3);
  for (std::int64_t phase = 0; phase < most && stages < units; ++phase) {
    plan.phases.push_back(stages);
    const std::int64_t length = std::min(1 + dice.below(depth), units - stages);
    for (std::int64_t s = 0; s < length; ++s) plan.stage_ipu.push_back(phase % plan.phase_groups * depth + s);
    stages += length;
  }
  plan.stages = draw_cuts(dice, units, stages);
  plan.phase_order =
      plan.phases.size() == 1 || dice.one_in(2) ? PhaseOrder::micro_batch_outer : PhaseOrder::phase_outer;
  for (std::int64_t s = 0; s < stages; ++s)
    plan.recompute.push_back(dice.one_in(2) ? Recompute::layer : Recompute::stage);
  plan.gradient_accumulation = 1 + dice.below(4);
}

Location draw_location(Dice& dice, bool outside) {
  if (!outside && !dice.one_in(4)) return Location::in_processor;
  return dice.of<Location>({Location::streaming, Location::streaming, Location::remote_machine, Location::remote_ipu});
}

void draw_memory(Dice& dice, Plan& plan, bool training) {
  const bool phased = plan.phased();
  const bool may_stay = !training && plan.pipeline_stages == 1 && plan.phase_order == PhaseOrder::micro_batch_outer;
  plan.location = {draw_location(dice, phased), draw_location(dice, false), draw_location(dice, phased),
                   draw_location(dice, phased && !may_stay), draw_location(dice, false)};
  plan.io_tiles = dice.one_in(3) ? 1 + dice.below(2) : 0;
  const auto schedule = [&] { return dice.one_in(2) ? LoadSchedule::preload : LoadSchedule::on_demand; };
  plan.load = {schedule(), schedule()};
  plan.prefetch_depth = 1 + dice.below(2);
  plan.available_memory_proportion = dice.of<double>({0.6, 0.6, 0.2, 0.002});
  const auto parts = [&] { return dice.one_in(12) ? dice.of<std::int64_t>({2, 4}) : 0; };
  plan.serialisation = {parts(), parts(), parts(), parts()};
}

void draw_sharding(Dice& dice, Plan& plan) {
  const auto degree = [&] { return plan.replicas > 1 && dice.one_in(2) ? plan.replicas : 1; };
  plan.replicated_tensor_sharding.optimizer_state = degree();
  plan.replicated_tensor_sharding.gradients = degree();
  plan.replicated_tensor_sharding.weights = degree();
  if (plan.replicas == 4) {  // shards of two within those of four, too
    for (std::int64_t* d : {&plan.replicated_tensor_sharding.optimizer_state,
                            &plan.replicated_tensor_sharding.gradients, &plan.replicated_tensor_sharding.weights})
      *d = dice.one_in(2) ? std::min<std::int64_t>(*d, 2) : *d;
  }
  plan.replicated_tensor_sharding.groups = dice.of<ShardGroups>({ShardGroups::consecutive, ShardGroups::orthogonal});
  plan.activation_sharding = dice.of<ActivationSharding>(
      {ActivationSharding::none, ActivationSharding::none, ActivationSharding::stored, ActivationSharding::throughout});
}

}  // namespace

Plan draw_plan(Dice& dice, const GraphSpec& spec, std::int64_t units) {
  Plan plan = plain_plan(units);
  draw_degrees(dice, plan, units);
  if (dice.one_in(4))
    draw_phases(dice, plan, units);
  else
    draw_pipeline(dice, plan, units, spec.training());
  // Elsewhere on the links the numbers are the same.
  if (dice.one_in(3)) {
    const std::vector<Placement> orders = placements(plan.tensor_parallel.size(), plan.pipeline_stages, plan.replicas);
    plan.placement = orders[static_cast<std::size_t>(dice.below(std::ssize(orders)))];
  }
  draw_memory(dice, plan, spec.training());
  draw_sharding(dice, plan);
  plan.precision.weights = plan.precision.activations = spec.type;
  plan.precision.master = spec.master_weights;
  if (spec.type == DType::fp16) {
    plan.precision.partials = dice.one_in(2) ? DType::fp16 : DType::fp32;
    plan.precision.accumulators = dice.one_in(2) ? DType::fp16 : DType::fp32;
  }
  return plan;
}

Plan fitted(Plan plan, std::int64_t units) {
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  for (std::int64_t s = 0; s < stages; ++s)
    plan.stages[at(s)] = std::min(plan.stages[at(s)], std::max<std::int64_t>(s, units - stages + s));
  return plan;
}

std::vector<Plan> simpler(const Plan& plan) {
  std::vector<Plan> out;
  const auto change = [&](const std::function<void(Plan&)>& f) {
    out.push_back(plan);
    f(out.back());
    if (out.back() == plan) out.pop_back();
  };
  const Plan plain;
  const auto restaged = [&](Plan& p, std::int64_t stages) {  // one phase
    p.pipeline_stages = stages;
    p.phases = {0}, p.phase_groups = 1, p.phase_order = PhaseOrder::phase_outer;
    p.stages.resize(std::min<std::size_t>(p.stages.size(), at(stages)));
    p.pipeline_stages = static_cast<std::int64_t>(p.stages.size());
    p.stage_ipu.clear();
    for (std::int64_t s = 0; s < p.pipeline_stages; ++s) p.stage_ipu.push_back(s);
    p.recompute.resize(std::min(p.recompute.size(), p.stages.size()));
  };
  change([&](Plan& p) { restaged(p, 1); });
  if (plan.pipeline_stages > 2) change([&](Plan& p) { restaged(p, plan.pipeline_stages - 1); });
  change([&](Plan& p) { restaged(p, plan.pipeline_stages); });
  change([](Plan& p) { p.tensor_parallel = {1, 1}; });
  change([](Plan& p) { p.tensor_parallel.t2 = 1; });
  change([](Plan& p) { p.tensor_parallel.t1 = std::min<std::int64_t>(2, p.tensor_parallel.t1); });
  change([](Plan& p) { p.replicas = 1, p.replicated_tensor_sharding = {}; });
  if (plan.replicas > 2) change([](Plan& p) { p.replicas = 2, p.replicated_tensor_sharding = {}; });
  change([](Plan& p) { p.micro_batch = 1; });
  change([](Plan& p) { p.gradient_accumulation = 1; });
  if (plan.gradient_accumulation > 2) change([](Plan& p) { p.gradient_accumulation = 2; });
  if (plan.gradient_accumulation > 1) change([](Plan& p) { --p.gradient_accumulation; });
  change([](Plan& p) { p.schedule = Schedule::sequential; });
  change([](Plan& p) { p.phase_order = PhaseOrder::phase_outer; });
  change([](Plan& p) { p.phase_groups = 1; });
  change([&](Plan& p) { p.placement = plain.placement; });
  change([](Plan& p) { p.recompute = {Recompute::none}; });
  if (plan.recompute != std::vector{Recompute::none} && plan.recompute != std::vector{Recompute::layer}) {
    change([](Plan& p) { p.recompute = {Recompute::layer}; });
    change([](Plan& p) { p.recompute = {Recompute::stage}; });
  }
  change([&](Plan& p) { p.replicated_tensor_sharding = {}; });
  change([&](Plan& p) { p.replicated_tensor_sharding.weights = 1; });
  change([&](Plan& p) { p.replicated_tensor_sharding.gradients = 1; });
  change([&](Plan& p) { p.activation_sharding = ActivationSharding::none; });
  change([&](Plan& p) { p.location = plain.location; });
  change([&](Plan& p) { p.location.code = p.location.activations = p.location.gradients = Location::in_processor; });
  for (Location Locations::*l : {&Locations::weights, &Locations::gradients, &Locations::optimizer_state,
                                 &Locations::activations, &Locations::code}) {
    change([&](Plan& p) { p.location.*l = Location::in_processor; });
    if (plan.location.*l != Location::in_processor) change([&](Plan& p) { p.location.*l = Location::streaming; });
  }
  change([&](Plan& p) { p.io_tiles = 0; });
  change([&](Plan& p) { p.load = plain.load, p.prefetch_depth = 1; });
  change([&](Plan& p) { p.serialisation = {}; });
  change([&](Plan& p) { p.available_memory_proportion = plain.available_memory_proportion; });
  change([](Plan& p) { p.precision.partials = p.precision.accumulators = DType::fp32; });
  return out;
}

std::string why_illegal(const GraphSpec& spec, const Plan& plan) {
  const Graph graph = make_graph(spec, plan.micro_batch);
  const GraphFacts facts(graph);
  Machine machine = load_machine("toy");
  machine.ipus = plan.ipus();
  for (std::size_t s = 1; s < plan.stages.size(); ++s) {
    if (plan.stages[s] == plan.stages[s - 1]) return "an empty stage";
  }
  if (std::string why = check_plan(plan, facts, machine, spec.training()); !why.empty()) return why;
  const std::vector<SampleFault> faults = find_samples(graph).faults;
  return plan.global_batch() == plan.micro_batch || faults.empty() ? "" : faults[0].why;
}

}  // namespace superstep
