// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/world.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "planner/infeasible/explain_infeasible.h"

namespace superstep::test {

namespace {

// Returns a job whose plans need not suit any software, unless the job says so.
Job read_without_rules(const nlohmann::json& given) {
  Job job = read_job(given, "test job");
  if (job.software.empty()) job.software = {kAnySoftware};
  return job;
}

}  // namespace

World::World(const nlohmann::json& json, const Calibration& calibration)
    : job(read_without_rules(json)), model(job.machine, calibration), tables(job, model) {}

std::string World::problem(const Plan& plan) {
  return check_plan(plan, tables.facts(plan.micro_batch), job.machine, tables.training());
}

SearchResult searched(World& world, bool fix) {
  SearchOptions options;
  options.pareto = false;
  options.find_fix = fix;
  options.explain = explain_infeasible;
  return search(world.tables, options);
}

Plan best_of(World& world) {
  const SearchResult found = search(world.tables, {.top = 1, .pareto = false, .find_fix = false, .defaults = true});
  return found.best.empty() ? found.closest.value() : found.best[0].plan;
}

nlohmann::json small_job(const std::string& zoo, const nlohmann::json& numbers, const nlohmann::json& machine) {
  nlohmann::json job = {{"model", {{"zoo", zoo}}}, {"machine", machine}, {"optimizer", {{"kind", "adam"}}}};
  job["model"].update(numbers);
  return job;
}

void let_fill_tiles(nlohmann::json& job) {
  job["software"] = kAnySoftware;
  job["limits"]["fit_probability"] = 0.5;  // with which a plan that just fills its tiles fits
}

nlohmann::json small_inference() {
  nlohmann::json job = small_gpt({});
  job.erase("batch");
  job.erase("optimizer");
  job["task"] = "inference";
  return job;
}

nlohmann::json small_bert(std::int64_t layers) {
  return small_job("bert-base",
                   {{"layers", layers},
                    {"hidden", 256},
                    {"heads", 4},
                    {"ffn", 1024},
                    {"vocabulary", 2000},
                    {"sequence_length", 64},
                    {"masked_tokens", 10}},
                   "ipu-pod16");
}

std::vector<std::int64_t> Draw::ascending(std::int64_t count, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(high - low));
  std::iota(all.begin(), all.end(), low);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    std::swap(all[i], all[i + static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size() - i)))]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::int64_t> divisors_of(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

namespace {

// Degrees, micro-batch and places that pipelines and phases share.
Plan draw_common(World& world, Draw& draw) {
  Plan p;
  const std::int64_t ipus = world.job.machine.ipus;
  std::int64_t heads = 1;  // of a file: not split
  if (const auto& zoo = world.job.model.zoo) {
    const auto* t5 = std::get_if<T5Spec>(&*zoo);
    heads = t5 ? t5->heads : std::get<TransformerSpec>(*zoo).heads;
  }
  std::vector<std::int64_t> ts;
  for (std::int64_t t : {1, 2, 4}) {
    if (ipus % t == 0 && heads % t == 0) ts.push_back(t);
  }
  p.tensor_parallel = {draw.of(ts), 1};
  const std::vector<std::int64_t> most = divisors_of(ipus / p.tensor_parallel.size());
  do p.pipeline_stages = draw.of(most);
  while (p.pipeline_stages > 4);
  p.replicas = ipus / p.tensor_parallel.size() / p.pipeline_stages;
  const Machine& m = world.job.machine;
  std::vector<Placement> orders = placements(p.tensor_parallel.size(), p.pipeline_stages, p.replicas);
  std::erase_if(orders, [&](Placement order) {
    return !lies_within(std::min(m.links.domain_ipus, m.control_domain_ipus), order, p.tensor_parallel.size(),
                        p.pipeline_stages, p.replicas);
  });
  p.placement = draw.chance(50) ? Placement::t_p_r : draw.of(orders);
  p.micro_batch = draw.of<std::int64_t>({1, 2});
  auto& rts = p.replicated_tensor_sharding;
  rts.optimizer_state = draw.of(divisors_of(p.replicas));
  rts.weights = draw.chance(30) ? draw.of(divisors_of(rts.optimizer_state)) : 1;
  rts.gradients = draw.chance(30) ? rts.optimizer_state : 1;
  rts.groups = draw.of<ShardGroups>({ShardGroups::consecutive, ShardGroups::orthogonal});
  p.activation_sharding = draw.of<ActivationSharding>(
      {ActivationSharding::none, ActivationSharding::stored, ActivationSharding::throughout});
  p.prefetch_depth = draw.of<std::int64_t>({1, 2});
  p.available_memory_proportion = draw.of<double>({0.2, 0.6});
  if (draw.chance(30)) p.serialisation.feed_forward = 4;
  if (draw.chance(30)) p.serialisation.attention = 2;
  if (draw.chance(30)) p.serialisation.embedding = 2;
  if (draw.chance(30)) p.serialisation.head = 2;
  return p;
}

}  // namespace

Plan draw_pipeline(World& world, Draw& draw) {
  Plan p = draw_common(world, draw);
  const std::int64_t units = static_cast<std::int64_t>(world.tables.facts(p.micro_batch).graph.units.size());
  const std::int64_t stages = p.pipeline_stages + (p.pipeline_stages > 1 && draw.chance(40) ? 1 : 0);
  p.stages = draw.ascending(stages - 1, 1, units);
  p.stages.insert(p.stages.begin(), 0);
  p.stage_ipu.clear(), p.recompute.clear();
  for (std::int64_t s = 0; s < stages; ++s) {
    p.stage_ipu.push_back(s % p.pipeline_stages);
    p.recompute.push_back(draw.of<Recompute>({Recompute::none, Recompute::layer, Recompute::stage}));
  }
  p.gradient_accumulation = 2 * stages - 1 + draw.below(20);
  p.schedule = draw.of<Schedule>({Schedule::grouped, Schedule::interleaved, Schedule::sequential});
  std::vector<Location> places = {Location::in_processor, Location::streaming};
  for (const Location at : {Location::remote_ipu, Location::remote_machine}) {
    if (has_lender(p, at, world.job.machine)) places.push_back(at);
  }
  const auto outside = [&] {
    return places[1 + static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(places.size()) - 1))];
  };
  p.location.optimizer_state = draw.of(places);
  p.location.activations = draw.chance(30) ? outside() : Location::in_processor;
  p.location.gradients = draw.chance(20) ? outside() : Location::in_processor;
  p.location.weights = draw.chance(15) ? outside() : Location::in_processor;
  return p;
}

Plan draw_phases(World& world, Draw& draw) {
  Plan p = draw_common(world, draw);
  const std::int64_t units = static_cast<std::int64_t>(world.tables.facts(p.micro_batch).graph.units.size());
  p.phase_groups = p.pipeline_stages % 2 == 0 && draw.chance(30) ? 2 : 1;
  p.phase_order = draw.chance(25) ? PhaseOrder::micro_batch_outer : PhaseOrder::phase_outer;
  p.location.weights = p.location.optimizer_state = p.location.activations = Location::streaming;
  const bool lends = has_lender(p, Location::remote_ipu, world.job.machine);
  if (lends && draw.chance(30)) p.location.weights = Location::remote_ipu;
  if (lends && draw.chance(30)) p.location.activations = Location::remote_ipu;
  p.io_tiles = draw.of<std::int64_t>({0, 32});
  for (LoadSchedule LoadSchedules::*kind : {&LoadSchedules::weights, &LoadSchedules::code})
    p.load.*kind = p.io_tiles > 0 && draw.chance(60) ? LoadSchedule::preload : LoadSchedule::on_demand;
  p.location.code = draw.chance(25) ? Location::streaming : Location::in_processor;
  if (lends && draw.chance(10)) p.location.code = Location::remote_ipu;
  p.gradient_accumulation = 1 + draw.below(30);
  const std::int64_t depth = p.pipeline_stages / p.phase_groups;
  p.stages.clear(), p.stage_ipu.clear(), p.recompute.clear(), p.phases.clear();
  for (std::int64_t at = 0, phase = 0; at < units; ++phase) {
    p.phases.push_back(static_cast<std::int64_t>(p.stages.size()));
    for (std::int64_t position = 0; position < depth && at < units; ++position) {
      p.stages.push_back(at);
      p.stage_ipu.push_back((p.phase_groups == 2 && phase % 2 == 1 ? depth : 0) + position);
      p.recompute.push_back(draw.of<Recompute>({Recompute::layer, Recompute::stage}));
      at += 1 + draw.below(std::max<std::int64_t>(1, units / (2 * depth)));
    }
  }
  return p;
}

nlohmann::json small_gpt(const nlohmann::json& plan) {
  nlohmann::json job = small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 32}};
  if (!plan.is_null()) job["plan"] = plan;
  return job;
}

}  // namespace superstep::test
