// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/graph/statistics.h"
#include "model/lower/lower.h"
#include "model/lower/placement.h"
#include "model/lower/serialise.h"

namespace superstep {
namespace {

std::string number(std::int64_t v) { return std::to_string(v); }

// Remote memory is that of another replica, on another machine if it is streaming: is there one?
std::string check_lenders(const Plan& plan, const Machine& machine) {
  const Locations& l = plan.location;
  for (const auto& [name, location] : {std::pair{"weights", l.weights},
                                       {"gradients", l.gradients},
                                       {"optimizer_state", l.optimizer_state},
                                       {"activations", l.activations},
                                       {"code", l.code}}) {
    if (has_lender(plan, location, machine)) continue;
    const std::string field = "location." + std::string(name) + " " + std::string(name_of(location));
    const std::string instead = "; use streaming, or more replicas";
    const std::int64_t replica = plan.tensor_parallel.size() * plan.pipeline_stages;
    if (!plan.replicas_outermost())
      return field + " needs whole replicas beyond its own, but placement " + std::string(name_of(plan.placement)) +
             " has their IPUs among each other; use streaming, or placement t-p-r";
    if (location == Location::remote_ipu)
      return field + " needs an IPU outside of the replica, but its " + number(replica) + " IPUs are all of " +
             machine.name + instead;
    if (location == Location::remote_machine)
      return field + " needs an IPU-Machine outside of the replica's own, but " + machine.name + " has " +
             number(machine.machines()) + " with " + number(machine.ipus_per_machine) +
             " IPUs each, and a replica takes " + number(replica) + " IPUs" + instead;
  }
  return "";
}

// Boundaries between phases stay on the tiles where the next phase needs them there, and no later one.
std::string check_boundaries(const Plan& plan, bool training) {
  if (!plan.boundaries_stay()) return "";
  const std::string field = "location.activations in_processor keeps boundaries between phases on the tiles, but ",
                    instead = "; use streaming";
  if (training) return field + "backward passes need those of all phases" + instead;
  if (plan.pipeline_stages > 1)
    return field + "the next phase begins on another of the " + number(plan.pipeline_stages) + " IPU groups" + instead;
  if (plan.phase_order == PhaseOrder::phase_outer)
    return field + "phase_outer has those of all micro-batches at once" + instead +
           ", or phase_order micro_batch_outer";
  return "";
}

std::string check_structure(const Plan& plan, const GraphFacts& facts, const Machine& machine, bool training) {
  const auto units = static_cast<std::int64_t>(facts.graph.units.size());
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (plan.stages.empty() || plan.stages.front() != 0 || plan.stages.back() >= units ||
      !std::is_sorted(plan.stages.begin(), plan.stages.end())) {
    return "stages do not run from unit 0 up to unit " + number(units - 1);
  }
  if (plan.stage_ipu.size() != plan.stages.size())
    return number(stages) + " stages, but stage_ipu names " + number(static_cast<std::int64_t>(plan.stage_ipu.size()));
  for (std::int64_t i : plan.stage_ipu) {
    if (i < 0 || i >= plan.pipeline_stages)
      return "stage_ipu " + number(i) + " is not one of the " + number(plan.pipeline_stages) + " IPU groups";
  }
  if (plan.phases.empty() || plan.phases.front() != 0 || plan.phases.back() >= stages)
    return "phases do not begin with stage 0 or name a stage beyond " + number(stages - 1);
  if (!plan.phased() && stages > plan.pipeline_stages + 1) {
    return number(stages) + " stages on " + number(plan.pipeline_stages) +
           " IPU groups: at most one may return to IPU 0";
  }
  if (plan.phased() && plan.phases.size() > 1) {
    if (plan.location.weights == Location::in_processor)
      return "phases need weights outside the processor (location.weights streaming)";
    if (training && plan.location.optimizer_state == Location::in_processor)
      return "phases need optimizer_state outside the processor";
  }
  if (plan.phase_groups == 2 && plan.pipeline_stages % 2 != 0)
    return "phase_groups 2 needs an even number of pipeline_stages";
  if (plan.io_tiles >= machine.chip.tiles)
    return "io_tiles " + number(plan.io_tiles) + " leaves no compute tiles of " + number(machine.chip.tiles);
  const bool streams =
      plan.location.weights != Location::in_processor || plan.location.optimizer_state != Location::in_processor ||
      plan.location.gradients != Location::in_processor || plan.location.activations != Location::in_processor;
  if (std::string why = check_lenders(plan, machine); !why.empty()) return why;
  if (std::string why = check_boundaries(plan, training); !why.empty()) return why;
  if (streams && !machine.has_streaming()) return machine.name + " has no Streaming Memory";
  return "";
}

}  // namespace

std::string check_degrees(const Plan& plan, const Machine& machine, bool training) {
  const TensorParallel& t = plan.tensor_parallel;
  if (plan.ipus() != machine.ipus) {
    return "tensor_parallel " + number(t.size()) + " x pipeline_stages " + number(plan.pipeline_stages) +
           " x replicas " + number(plan.replicas) + " = " + number(plan.ipus()) + " IPUs, but " + machine.name +
           " has " + number(machine.ipus);
  }
  if (t.size() > machine.links.domain_ipus) {
    return "tensor_parallel " + number(t.size()) + " is more than the " + number(machine.links.domain_ipus) +
           " IPUs of an IPU-Link domain";
  }
  if (t.size() * plan.pipeline_stages > machine.control_domain_ipus) {
    return "tensor_parallel x pipeline_stages = " + number(t.size() * plan.pipeline_stages) + " is more than the " +
           number(machine.control_domain_ipus) + " IPUs one program can span";
  }
  const std::int64_t together = std::min(machine.links.domain_ipus, machine.control_domain_ipus);
  if (!lies_within(together, plan.placement, t.size(), plan.pipeline_stages, plan.replicas)) {
    return "placement " + std::string(name_of(plan.placement)) + " spreads a replica over " + number(plan.ipus()) +
           " IPUs, more than the " + number(together) + " that one program and one IPU-Link domain can span";
  }
  const std::int64_t replica = t.size() * plan.pipeline_stages;
  if (machine.power_of_two_ipus && (replica & (replica - 1)) != 0) {
    return "a replica of " + number(replica) + " IPUs is not a power of two, which " + machine.name + " asks for";
  }
  const auto& rts = plan.replicated_tensor_sharding;
  for (const auto& [name, degree] :
       {std::pair{"weights", rts.weights}, {"gradients", rts.gradients}, {"optimizer_state", rts.optimizer_state}}) {
    if (plan.replicas % degree != 0) {
      return "replicated_tensor_sharding." + std::string(name) + " " + number(degree) + " does not divide the " +
             number(plan.replicas) + " replicas";
    }
  }
  if (!training) return "";
  if (rts.optimizer_state % rts.weights != 0) {
    return "replicated_tensor_sharding.optimizer_state " + number(rts.optimizer_state) +
           " is not a multiple of weights " + number(rts.weights) +
           ": a shard of the update must lie inside a shard of the weights";
  }
  if (rts.gradients > 1 && rts.optimizer_state > 1 && rts.gradients != rts.optimizer_state) {
    return "replicated_tensor_sharding.gradients " + number(rts.gradients) + " differs from optimizer_state " +
           number(rts.optimizer_state) +
           ": the update of a shard needs the gradients of just that shard; choose equal " +
           "degrees, or 1 for one of them";
  }
  return "";
}

std::int64_t least_accumulation(Schedule schedule, std::int64_t stages, bool training) {
  return training && schedule != Schedule::sequential ? 2 * stages - 1 : 1;
}

std::string check_plan(const Plan& plan, const GraphFacts& facts, const Machine& machine, bool training) {
  if (std::string why = check_degrees(plan, machine, training); !why.empty()) return why;
  if (std::string why = check_structure(plan, facts, machine, training); !why.empty()) return why;
  if (training && plan.phased() &&
      std::find(plan.recompute.begin(), plan.recompute.end(), Recompute::none) != plan.recompute.end()) {
    return "recompute none cannot go with phases: a phase's forward is long gone when its backward begins";
  }
  if (std::string why = check_serialisation(facts, plan); !why.empty()) return why;
  const GroupFault fault = check_group(facts.graph.statistics_group, plan.micro_batch, plan.replicas);
  if (!fault.why.empty()) return fault.why;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  const std::int64_t least = least_accumulation(plan.schedule, stages, training);
  if (!plan.phased() && plan.gradient_accumulation < least) {
    return "gradient_accumulation " + number(plan.gradient_accumulation) + " is less than the " + number(least) +
           " micro-batches that " + number(stages) + " pipelined stages need (2 x stages - 1)";
  }
  return "";
}

}  // namespace superstep
