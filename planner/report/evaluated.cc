// SPDX-License-Identifier: Apache-2.0
#include "planner/report/evaluated.h"

#include <algorithm>
#include <utility>

#include "model/cost/fit_probability.h"
#include "model/lower/lower.h"
#include "planner/space/software_facts.h"
#include "traces/compare.h"
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

std::vector<std::string> Evaluated::not_validated() const {
  std::vector<std::string> names;
  for (const Mechanism& m : unmeasured) names.push_back(m.name);
  return names;
}

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
  e.tile_peak_band = tables.model().calibration().memory_band(plan.temporary_cap(m.chip));
  e.fit_probability = fit_probability(m.chip.tile_memory.value - e.tile_peak, e.tile_peak_band);
  e.unmeasured = unmeasured_in(plan_facts(tables.job(), plan, tables.facts(plan.micro_batch)));
  return e;
}

Subject subject_of(const Tables& tables, const Evaluated& e) {
  return {tables.job().model.name(), label(e.plan), e.unmeasured};
}

void draw_worlds(Tables& tables, Evaluated& e) {
  e.worlds = step_seconds_in_worlds(e.program, tables.model(), subject_of(tables, e));
}

double probability_better(const Goal& goal, const Evaluated& first, const Evaluated& second) {
  const auto costs = [&](const Evaluated& e) {
    std::vector<double> out;
    for (double seconds : e.worlds) out.push_back(1 / goal.score(e.plan.global_batch(), seconds));
    return out;
  };
  return probability_faster(costs(first), costs(second));
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
