// SPDX-License-Identifier: Apache-2.0
#include "model/lower/residents.h"

#include <algorithm>

namespace superstep {
namespace {

Bytes io_of(const Holdings& h, std::int64_t ipu, std::int64_t phase) {
  Bytes io(0);
  h.for_units(ipu, phase, [&](std::size_t u) { io += h.table.row(u).host_tile() * h.plan.prefetch_depth; });
  return io;
}

Bytes resident_state(const Holdings& h, std::int64_t ipu) {
  if (!h.table.training() || h.plan.location.optimizer_state != Location::in_processor) return Bytes(0);
  const Bytes state(h.parameters_of(ipu, -1, false) * h.state_bytes);
  return Bytes(ceil_div(sharded(state, h.plan.replicated_tensor_sharding.optimizer_state).value, h.table.tiles()));
}

// While phase j is on the tiles: its weights and accumulators whole, and the code of all phases unless
// code is loaded with its phase.
Residents resident_phase(const Holdings& h, std::int64_t ipu, std::int64_t j) {
  Residents r = h.code_of(ipu, h.plan.location.code == Location::in_processor ? -1 : j);
  r.weights = h.weights_tile(ipu, j);
  if (h.table.training()) {
    const std::int64_t accumulators = h.parameters_of(ipu, j, true) * size_of(h.plan.precision.accumulators);
    r.gradients = Bytes(ceil_div(accumulators, h.table.tiles()));
  }
  r.io = io_of(h, ipu, j);
  r.optimizer_state = resident_state(h, ipu);
  return r;
}

Residents resident_stages(const Holdings& h, std::int64_t ipu) {
  Residents r = h.code_of(ipu, -1);
  const auto& rts = h.plan.replicated_tensor_sharding;
  r.weights = h.weights_tile(ipu, -1);
  if (rts.weights > 1) r.weights = share(r.weights, rts.weights) + largest_weights(h, ipu);
  if (h.table.training()) {
    const std::int64_t accumulators = h.parameters_of(ipu, -1, true) * size_of(h.plan.precision.accumulators);
    r.gradients = share(Bytes(ceil_div(accumulators, h.table.tiles())), rts.gradients);
    if (rts.gradients > 1) r.gradients += largest_gradient(h, ipu);
    if (h.plan.location.gradients != Location::in_processor) r.gradients = largest_gradient(h, ipu);
    for (const StageSpan& s : h.spans) {
      if (s.ipu != ipu) continue;
      const std::int64_t depth = stash_depth(h.plan.schedule, s.from_end);
      const bool elsewhere = h.plan.location.activations != Location::in_processor;
      r.stash += h.stash_entry(s, true) * (elsewhere ? std::min<std::int64_t>(depth, 2) : depth);
    }
  }
  r.io = io_of(h, ipu, -1);
  r.optimizer_state = resident_state(h, ipu);
  return r;
}

// Of all phases on an IPU, where it is loaded with each of them: what they share is there once.
Bytes stored_code(const Holdings& h, std::int64_t ipu) { return h.code_of(ipu, -1).executable() * h.table.tiles(); }

bool away(Location l) { return l == Location::streaming || l == Location::remote_machine; }

// In front of a stage of a phase, of all micro-batches that run through the phase before the next one. Inference stores
// nothing within a phase.
Bytes stored_boundaries(const Holdings& h, const StageSpan& s) {
  if (h.plan.boundaries_stay() || (!h.table.training() && s.position > 0)) return Bytes(0);
  return h.stored_boundary(s.begin) *
         (h.plan.phase_order == PhaseOrder::phase_outer ? h.plan.gradient_accumulation : 1);
}

// Its replica's neighbour keeps here what this IPU keeps with the next one: bytes of an IPU.
Bytes lent(const Holdings& h, std::int64_t ipu) {
  Bytes b(0);
  const auto& rts = h.plan.replicated_tensor_sharding;
  const auto remote = [](Location l) { return l == Location::remote_ipu; };
  if (remote(h.plan.location.weights)) b += sharded(h.weights_of(ipu, -1), rts.weights);
  if (h.plan.phased() && remote(h.plan.location.code)) b += stored_code(h, ipu);
  if (h.table.training()) {
    if (remote(accumulators_at(h.plan)))
      b += sharded(Bytes(h.parameters_of(ipu, -1, true) * size_of(h.plan.precision.accumulators)),
                   gradient_shards(h.plan));
    if (remote(h.plan.location.optimizer_state))
      b += sharded(Bytes(h.parameters_of(ipu, -1, false) * h.state_bytes), rts.optimizer_state);
  }
  for (const StageSpan& s : h.spans) {
    if (s.ipu != ipu || !remote(h.plan.location.activations)) continue;
    if (h.plan.phased())
      b += stored_boundaries(h, s);
    else if (h.table.training())
      b += h.stash_entry(s, false) * stash_depth(h.plan.schedule, s.from_end);
  }
  return b;
}

}  // namespace

Bytes largest_weights(const Holdings& h, std::int64_t ipu) {
  Bytes largest(0);
  h.for_units(ipu, -1, [&](std::size_t u) {
    largest = std::max(largest, h.table.row(u).weight_tile + h.table.row(u).borrowed_tile);
  });
  return largest;
}

Bytes largest_gradient(const Holdings& h, std::int64_t ipu) {
  Bytes largest(0);
  h.for_units(ipu, -1, [&](std::size_t u) {
    largest = std::max(
        largest, Bytes(ceil_div(h.table.row(u).parameters * size_of(h.plan.precision.accumulators), h.table.tiles())));
  });
  return largest;
}

std::vector<Residents> residents_of(const Holdings& h, std::int64_t ipu) {
  std::vector<Residents> phases;
  if (!h.plan.phased()) phases.push_back(resident_stages(h, ipu));
  const auto count = static_cast<std::int64_t>(h.plan.phases.size());
  for (std::int64_t j = 0; h.plan.phased() && j < count; ++j) phases.push_back(resident_phase(h, ipu, j));
  for (Residents& r : phases) r.lent = share(lent(h, ipu), h.table.tiles());
  return phases;
}

StreamingUse ddr_of(const Holdings& h, std::int64_t ipu) {
  StreamingUse use;
  const auto& rts = h.plan.replicated_tensor_sharding;
  if (h.plan.phased() && away(h.plan.location.code)) use.code = stored_code(h, ipu);
  if (away(h.plan.location.weights)) use.weights = sharded(h.weights_of(ipu, -1), rts.weights);
  if (h.table.training()) {
    const Bytes accumulators(h.parameters_of(ipu, -1, true) * size_of(h.plan.precision.accumulators));
    if (away(accumulators_at(h.plan))) use.gradients = sharded(accumulators, gradient_shards(h.plan));
    if (away(h.plan.location.optimizer_state))
      use.optimizer_state = sharded(Bytes(h.parameters_of(ipu, -1, false) * h.state_bytes), rts.optimizer_state);
    for (const Tie& tie : ties(h.plan, h.table.facts())) {  // wait there for their owner's phase
      if (!tie.same_phase && tie.borrower_ipu == ipu) use.gradients += tied_gradients(h.table, h.plan, tie);
    }
  }
  for (const StageSpan& s : h.spans) {
    if (s.ipu != ipu) continue;
    for (std::int64_t u = s.begin; u < s.end && h.table.model().machine().has_streaming(); ++u)
      use.host += h.table.row(static_cast<std::size_t>(u)).host_bytes() * h.plan.prefetch_depth;
    if (h.plan.phased() && h.plan.location.activations != Location::remote_ipu)
      use.activations += stored_boundaries(h, s);
    else if (h.table.training() && away(h.plan.location.activations))
      use.activations += h.stash_entry(s, false) * stash_depth(h.plan.schedule, s.from_end);
  }
  return use;
}

Bytes Program::executable(std::size_t ipu) const {
  Bytes most(0);
  for (const Residents& r : residents[ipu]) most = std::max(most, r.executable());
  return most;
}

}  // namespace superstep
