// SPDX-License-Identifier: Apache-2.0
#include "planner/report/evaluated.h"

#include <algorithm>
#include <utility>

#include "model/lower/lower.h"
#include "traces/verdict.h"

namespace superstep {
namespace {

double model_flops(const UnitTable& table, const Plan& plan) {
  double flops = 0;
  for (std::size_t u = 0; u < table.units(); ++u) flops += table.row(u).flops;
  return flops * static_cast<double>(plan.gradient_accumulation) * static_cast<double>(plan.replicas);
}

double peak_flops(const Machine& m) {
  return static_cast<double>(m.ipus) * static_cast<double>(m.chip.tiles) * 2 *
         static_cast<double>(m.chip.amp.fp16_16_macs_per_cycle) * m.chip.clock.value;
}

std::vector<std::string> mechanisms_not_measured(const Plan& p, const Machine& m, bool training) {
  std::vector<std::string> out;
  if (p.phased()) out.push_back("phased execution");
  if (p.tensor_parallel.size() > 1) out.push_back("tensor parallelism");
  if (p.placement != Placement::t_p_r) out.push_back("placement " + std::string(name_of(p.placement)));
  const ReplicatedTensorSharding& rts = p.replicated_tensor_sharding;
  const bool grouped = std::ranges::any_of(std::array{rts.weights, rts.gradients, rts.optimizer_state},
                                           [&](std::int64_t degree) { return degree > 1 && degree < p.replicas; });
  if (grouped && rts.groups == ShardGroups::orthogonal) out.emplace_back("orthogonal groups of shards");
  if (p.location.weights != Location::in_processor && !p.phased()) out.push_back("weights outside the processor");
  if (rts.weights > 1) out.push_back("sharded weights");
  if (rts.gradients > 1) out.push_back("sharded gradients");
  if (p.location.activations != Location::in_processor && !p.phased()) out.push_back("stash outside the processor");
  const Locations& l = p.location;
  for (Location place : {l.weights, l.gradients, l.optimizer_state, l.activations, l.code}) {
    if ((place == Location::remote_machine || place == Location::remote_ipu) &&
        (out.empty() || out.back() != "remote memory"))
      out.push_back("remote memory");
  }
  if (p.schedule == Schedule::interleaved) out.push_back("interleaved schedule");
  if (m.domains() > 2) out.push_back("updates across more than two racks");
  if (!training) out.push_back("inference");
  return out;
}

// Returns the plan's value in a measure; the higher, the better.
double value_of(const Evaluated& e, Measure m) {
  switch (m) {
    case Measure::throughput:
    case Measure::time_to_train:
      return e.samples_per_second;
    case Measure::latency:
      return -e.step_seconds;
    case Measure::memory:
      return -static_cast<double>(e.tile_peak);
    case Measure::ipus:
      return -static_cast<double>(e.plan.ipus());
    case Measure::power:
      return -e.rated_power;
  }
  return 0;
}

}  // namespace

Evaluated evaluate_in_full(Tables& tables, const Plan& plan) {
  const UnitTable& table = tables.table(table_key(plan));
  const Machine& m = tables.job().machine;
  Evaluated e;
  e.plan = plan;
  e.label = label(plan);
  e.program = lower(table, plan, tables.job().optimizer);
  e.timeline = cost(e.program, tables.model());
  e.step_seconds = tables.model().seconds(e.timeline.step.total()).value;
  e.samples_per_second = static_cast<double>(plan.global_batch()) / e.step_seconds;
  e.score = tables.job().goal.score(plan.global_batch(), e.step_seconds);
  e.rated_power = m.rated_power.value;
  if (const std::int64_t samples = tables.job().goal.samples; samples > 0)
    e.time_to_train = e.step_seconds * static_cast<double>(ceil_div(samples, plan.global_batch()));
  const double flops = model_flops(table, plan);
  e.ideal_seconds = flops / peak_flops(m);
  e.flop_utilisation = flops / (peak_flops(m) * e.step_seconds);
  for (std::size_t i = 0; i < e.program.ipus(); ++i) {
    e.tile_peak = std::max(e.tile_peak, e.timeline.tile_peak(i).value);
    e.ddr_per_ipu = std::max(e.ddr_per_ipu, e.program.ddr[i].total().value);
  }
  e.overflows = find_overflows(e.program, e.timeline, table);
  e.fits = fit_word(e.overflows.empty() ? fit_in(e.tile_peak, m.chip.tile_memory.value) : Fit::does_not_fit);
  e.not_validated = mechanisms_not_measured(plan, m, tables.training());
  return e;
}

Subject subject_of(const Tables& tables, const Evaluated& e) {
  return {tables.job().model.name(), label(e.plan), e.not_validated.empty()};
}

void draw_worlds(Tables& tables, Evaluated& e) {
  e.worlds = step_seconds_in_worlds(e.program, tables.model(), subject_of(tables, e));
}

void keep_front(std::vector<Evaluated>& plans, const std::array<Measure, 2>& measures) {
  const auto values = [&](const Evaluated& e) { return std::pair(value_of(e, measures[0]), value_of(e, measures[1])); };
  std::stable_sort(plans.begin(), plans.end(),
                   [&](const Evaluated& a, const Evaluated& b) { return values(a) > values(b); });
  std::vector<Evaluated> front;
  for (Evaluated& e : plans) {
    if (front.empty() || values(e).second > values(front.back()).second) front.push_back(std::move(e));
  }
  plans = std::move(front);
}

}  // namespace superstep
