// SPDX-License-Identifier: Apache-2.0
#include "model/lower/placement.h"

#include <algorithm>

namespace superstep {

std::vector<StageSpan> stage_spans(const Plan& plan, std::int64_t units) {
  std::vector<StageSpan> spans;
  std::size_t phase = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    while (phase + 1 < plan.phases.size() && plan.phases[phase + 1] <= static_cast<std::int64_t>(s)) ++phase;
    StageSpan span;
    span.begin = plan.stages[s];
    span.end = s + 1 < plan.stages.size() ? plan.stages[s + 1] : units;
    span.phase = static_cast<std::int64_t>(phase);
    span.position = static_cast<std::int64_t>(s) - plan.phases[phase];
    const std::int64_t next =
        phase + 1 < plan.phases.size() ? plan.phases[phase + 1] : static_cast<std::int64_t>(plan.stages.size());
    span.from_end = next - 1 - static_cast<std::int64_t>(s);
    span.ipu = plan.stage_ipu[s];
    span.recompute = plan.recompute[std::min(s, plan.recompute.size() - 1)];
    spans.push_back(span);
  }
  return spans;
}

const StageSpan& span_of(const std::vector<StageSpan>& spans, UnitId unit) {
  return *std::find_if(spans.begin(), spans.end(),
                       [&](const StageSpan& s) { return s.begin <= unit.index && unit.index < s.end; });
}

std::int64_t lender_stride(const Plan& plan, Location location, std::int64_t per_machine) {
  const std::int64_t replica = plan.tensor_parallel.size() * plan.pipeline_stages;
  if (location == Location::remote_ipu) return replica;
  if (location == Location::remote_machine) return replica * std::max<std::int64_t>(1, ceil_div(per_machine, replica));
  return 1;
}

bool has_lender(const Plan& plan, Location location, const Machine& machine) {
  const bool remote = location == Location::remote_ipu || location == Location::remote_machine;
  if (remote && !plan.replicas_outermost()) return false;
  const std::int64_t stride = lender_stride(plan, location, machine.ipus_per_machine);
  // The last ones go round to the first, which must be on another machine as well.
  if (location == Location::remote_machine) return stride + machine.ipus_per_machine <= machine.ipus;
  return location != Location::remote_ipu || stride < machine.ipus;
}

bool update_loads(const Plan& plan) { return plan.phased() && plan.phase_order == PhaseOrder::micro_batch_outer; }

std::int64_t gradient_shards(const Plan& plan) {
  return plan.phased() && !update_loads(plan) ? 1 : plan.replicated_tensor_sharding.gradients;
}

Location accumulators_at(const Plan& plan) {
  if (plan.phased() && !update_loads(plan)) return Location::in_processor;
  const bool leave = update_loads(plan) && plan.location.gradients == Location::in_processor;
  return leave ? Location::streaming : plan.location.gradients;
}

namespace {

// Of ascending numbers from 0 the index of the last that is not above x. Weights are tied between the ends of a model
// mostly, where there is nothing to search.
std::size_t last_up_to(const std::vector<std::int64_t>& ascending, std::int64_t x) {
  if (x >= ascending.back()) return ascending.size() - 1;
  if (x < ascending[1]) return 0;
  return static_cast<std::size_t>(std::upper_bound(ascending.begin(), ascending.end(), x) - ascending.begin()) - 1;
}

}  // namespace

std::size_t stage_of(const Plan& plan, std::int64_t unit) { return last_up_to(plan.stages, unit); }

Tie place_tie(const Plan& plan, const GraphFacts& facts, std::size_t tied) {
  const TiedUnit& units = facts.tied[tied];
  const auto place = [&](std::int64_t unit) {
    const std::size_t stage = stage_of(plan, unit);
    const std::size_t phase = last_up_to(plan.phases, static_cast<std::int64_t>(stage));
    return std::pair<std::int64_t, std::int64_t>(plan.stage_ipu[stage], phase);
  };
  const auto owner = place(units.owner), borrower = place(units.borrower);
  Tie tie{units.owner,  units.borrower,  owner.first,      borrower.first, owner.second == borrower.second,
          owner.second, borrower.second, owner == borrower};
  for (std::int64_t k = units.before; k >= 0 && !tie.together; k = facts.tied[static_cast<std::size_t>(k)].before)
    tie.together = place(facts.tied[static_cast<std::size_t>(k)].borrower) == borrower;
  return tie;
}

std::vector<Tie> ties(const Plan& plan, const GraphFacts& facts) {
  std::vector<Tie> out;
  for (std::size_t k = 0; k < facts.tied.size(); ++k) {
    const Tie tie = place_tie(plan, facts, k);
    if (!tie.together) out.push_back(tie);
  }
  return out;
}

Bytes tied_gradients(const UnitTable& table, const Plan& plan, const Tie& tie) {
  const std::int64_t n = table.row(static_cast<std::size_t>(tie.borrower)).borrowed_parameters;
  return sharded(Bytes(n * size_of(plan.precision.accumulators)), gradient_shards(plan));
}

GroupShape mesh_of(const Plan& plan) { return {plan.tensor_parallel.size(), plan.strides().rank}; }

GroupShape Replicas::group(std::int64_t degree, std::int64_t part) const {
  return {degree / part, stride * (groups == ShardGroups::consecutive ? part : count / degree)};
}
std::int64_t Replicas::shard_of(std::int64_t replica, std::int64_t degree) const {
  return groups == ShardGroups::consecutive ? replica % degree : replica / (count / degree);
}
std::int64_t Replicas::first_with(std::int64_t shard, std::int64_t degree) const {
  return groups == ShardGroups::consecutive ? shard : shard * (count / degree);
}

Replicas replicas_of(const Plan& plan) {
  return {plan.replicas, plan.strides().replica, plan.replicated_tensor_sharding.groups};
}
GroupShape shard_group(const Plan& plan, std::int64_t degree) { return replicas_of(plan).group(degree); }

}  // namespace superstep
