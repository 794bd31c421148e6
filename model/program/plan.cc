// SPDX-License-Identifier: Apache-2.0
#include "model/program/plan.h"

#include <algorithm>

namespace superstep {

std::string_view name_of(Placement v) {
  switch (v) {
    case Placement::t_p_r:
      return "t-p-r";
    case Placement::p_t_r:
      return "p-t-r";
    case Placement::t_r_p:
      return "t-r-p";
    case Placement::p_r_t:
      return "p-r-t";
    case Placement::r_t_p:
      return "r-t-p";
    case Placement::r_p_t:
      return "r-p-t";
  }
  return "";
}
std::string_view name_of(ShardGroups v) { return v == ShardGroups::consecutive ? "consecutive" : "orthogonal"; }
std::string_view name_of(Schedule v) {
  return v == Schedule::sequential ? "sequential" : v == Schedule::interleaved ? "interleaved" : "grouped";
}
std::string_view name_of(Recompute v) {
  return v == Recompute::none ? "none" : v == Recompute::layer ? "layer" : "stage";
}
std::string_view name_of(Location v) {
  switch (v) {
    case Location::in_processor:
      return "in_processor";
    case Location::streaming:
      return "streaming";
    case Location::remote_machine:
      return "remote_machine";
    case Location::remote_ipu:
      return "remote_ipu";
  }
  return "";
}
std::string_view name_of(PhaseOrder v) { return v == PhaseOrder::phase_outer ? "phase_outer" : "micro_batch_outer"; }
std::string_view name_of(LoadSchedule v) { return v == LoadSchedule::preload ? "preload" : "on_demand"; }
std::string_view name_of(ActivationSharding v) {
  return v == ActivationSharding::none ? "none" : v == ActivationSharding::stored ? "stored" : "throughout";
}

Strides strides(Placement placement, std::int64_t t, std::int64_t p, std::int64_t r) {
  Strides out;
  std::int64_t inner = 1;
  for (const char letter : name_of(placement)) {
    if (letter == '-') continue;
    const std::int64_t size = letter == 't' ? t : letter == 'p' ? p : r;
    (letter == 't' ? out.rank : letter == 'p' ? out.stage : out.replica) = size > 1 ? inner : 1;
    inner *= size;
  }
  return out;
}

std::vector<Placement> placements(std::int64_t t, std::int64_t p, std::int64_t r) {
  std::vector<Placement> out;
  for (const Placement placement : kPlacements) {
    const auto same = [&](Placement other) { return strides(other, t, p, r) == strides(placement, t, p, r); };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(placement);
  }
  return out;
}

bool lies_within(std::int64_t most, Placement placement, std::int64_t t, std::int64_t p, std::int64_t r) {
  if (placement == Placement::t_p_r) return true;
  const bool outermost = r == 1 || strides(placement, t, p, r).replica == t * p;
  return t * p * (outermost ? 1 : r) <= most;
}

Bytes Plan::temporary_cap(const Chip& chip) const {
  if (stage_proportions.empty()) return cap_of(available_memory_proportion.share, chip);
  double most = 0;
  for (const Proportion& p : stage_proportions) most = std::max(most, p.share);
  return cap_of(most, chip);
}

Strides Plan::strides() const {
  return superstep::strides(placement, tensor_parallel.size(), pipeline_stages, replicas);
}
bool Plan::replicas_outermost() const {
  return replicas == 1 || strides().replica == tensor_parallel.size() * pipeline_stages;
}

std::string label(const Plan& plan) {
  const TensorParallel& t = plan.tensor_parallel;
  std::string s = "t=" + (t.t2 > 1 ? std::to_string(t.t1) + "x" + std::to_string(t.t2) : std::to_string(t.t1));
  s += " p=" + std::to_string(plan.pipeline_stages) + " r=" + std::to_string(plan.replicas) +
       " m=" + std::to_string(plan.micro_batch) + " g=" + std::to_string(plan.gradient_accumulation);
  if (plan.placement != Placement::t_p_r) s += " " + std::string(name_of(plan.placement));
  if (plan.phases.size() > 1) s += ", " + std::to_string(plan.phases.size()) + " phases";
  return s;
}

}  // namespace superstep
