// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/lower/lowering.h"

namespace superstep {
namespace {

std::int64_t phase_count(const Lowering& l) { return static_cast<std::int64_t>(l.plan.phases.size()); }
// A second group of IPUs takes the next phase's weights at once; else they wait on IO tiles.
bool preloads(const Lowering& l, LoadSchedule kind) {
  return kind == LoadSchedule::preload && l.plan.io_tiles > 0 && l.plan.phase_groups == 1;
}
bool comes_ahead(const Lowering& l, LoadSchedule kind) { return preloads(l, kind) || l.plan.phase_groups == 2; }
bool code_moves(const Lowering& l) { return l.plan.location.code != Location::in_processor; }

Bytes moved_code(const Lowering& l, std::int64_t ipu, std::int64_t phase) {
  return code_moves(l) ? l.held.code_of(ipu, phase).executable() * l.table.tiles() : Bytes(0);
}

// A phase that comes in at once is counted too.
Preloaded preloaded(const Lowering& l, std::int64_t ipu) {
  Preloaded most;
  for (std::int64_t j = 0; j < phase_count(l); ++j) {
    Preloaded of_phase;
    if (preloads(l, l.plan.load.weights))
      of_phase.weights = sharded(l.held.weights_of(ipu, j), l.plan.replicated_tensor_sharding.weights);
    if (preloads(l, l.plan.load.code)) of_phase.code = moved_code(l, ipu, j);
    if (of_phase.total() > most.total()) most = of_phase;
  }
  return most;
}

// What comes ahead of the phase, or what comes when it begins.
void load_phase(const Lowering& l, Node& to, std::int64_t j, bool ahead) {
  Node all = parallel("load phase " + std::to_string(j));
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) {
    Node branch = sequence("IPU " + std::to_string(i));
    branch.ipu = i;
    const std::vector<UnitId> units = l.held.units_on(i, j);
    if (comes_ahead(l, l.plan.load.weights) == ahead) {
      const Bytes w = l.held.weights_of(i, j);
      const std::int64_t shards = l.plan.replicated_tensor_sharding.weights;
      const Cargo weights{Data::weights, units};
      add_streamed(l, branch, "load weights", StepKind::load, sharded(w, shards), l.plan.location.weights, weights);
      add_collective(branch, "gather weights", CollectiveKind::all_gather, Term::gradient_collective,
                     shard_group(l.plan, shards), w, weights);
    }
    if (comes_ahead(l, l.plan.load.code) == ahead && !units.empty())
      add_streamed(l, branch, "load code", StepKind::load, moved_code(l, i, j), l.plan.location.code,
                   {Data::code, units});
    if (!branch.children.empty()) all.children.push_back(std::move(branch));
  }
  if (!all.children.empty()) to.children.push_back(std::move(all));
}

// Activations that a phase's stage moves through Streaming Memory per micro-batch: its input is
// stashed for its backward; results that leave the phase, and their gradients, pass through memory.
void phase_activations(const Lowering& l, Node& to, const StageSpan& s, std::int64_t j, std::int64_t depth,
                       bool forward) {
  const bool first = s.position == 0, last = s.position + 1 == depth;
  const Bytes in = l.held.stored_boundary(s.begin), out = l.held.stored_boundary(s.end);
  const Location where = l.plan.location.activations;
  const Cargo into{Data::activations, {unit_id(s.begin)}}, out_of{Data::activations, {unit_id(s.end)}};
  const Cargo back{Data::activation_gradients, into.units}, from_next{Data::activation_gradients, out_of.units};
  if (forward) {
    if (first && j > 0) add_streamed(l, to, "load boundary", StepKind::load, in, where, into);
    if (!first && l.table.training())
      add_streamed(l, to, "stash boundary", StepKind::store, in, where, {Data::stash, into.units});
    if (last && j + 1 < phase_count(l)) add_streamed(l, to, "store boundary", StepKind::store, out, where, out_of);
  } else {
    add_streamed(l, to, "load boundary", StepKind::load, in, where, {Data::stash, into.units});
    if (last && j + 1 < phase_count(l)) add_streamed(l, to, "load gradients", StepKind::load, out, where, from_next);
    if (first && j > 0) add_streamed(l, to, "store gradients", StepKind::store, in, where, back);
  }
  if (!(forward && !first)) join_boundary(l, to, "gather boundary", s.begin, Data::stash_shards);
  if (!forward && last && j + 1 < phase_count(l))
    join_boundary(l, to, "gather gradients", s.end, Data::gradient_shards);
}

Node phase_work(Lowering& l, std::int64_t j, bool forward) {
  std::vector<StageSpan> mine;
  for (const StageSpan& s : l.held.spans) {
    if (s.phase == j) mine.push_back(s);
  }
  const std::int64_t depth = static_cast<std::int64_t>(mine.size());
  const bool outer = l.plan.phase_order == PhaseOrder::phase_outer;
  const std::int64_t g = outer ? l.plan.gradient_accumulation : 1;
  Node loop = repeat(forward ? "forward micro-batches" : "backward micro-batches", g + depth - 1, g);
  Node cycle = parallel("pipeline cycle");
  for (const StageSpan& s : mine) {
    Node branch = sequence("IPU " + std::to_string(s.ipu));
    branch.ipu = s.ipu;
    Node work = sequence("compute"), move = sequence("activations");
    if (forward) {
      forward_calls(l, work, s, s.position, false);
    } else {
      backward_calls(l, work, s, s.from_end, false);
    }
    phase_activations(l, move, s, j, depth, forward);
    if (l.plan.io_tiles > 0) {  // IO tiles stream while compute tiles work
      Node both = parallel("compute and stream");
      both.ipu = s.ipu;
      work.ipu = move.ipu = s.ipu;
      both.children.push_back(std::move(work));
      both.children.push_back(std::move(move));
      branch.children.push_back(std::move(both));
    } else {
      for (Node& n : work.children) branch.children.push_back(std::move(n));
      for (Node& n : move.children) branch.children.push_back(std::move(n));
    }
    cycle.children.push_back(std::move(branch));
  }
  loop.children.push_back(std::move(cycle));
  Bytes widest(0);
  Cargo cargo{forward ? Data::activations : Data::activation_gradients, {}};
  for (std::size_t s = 1; s < mine.size(); ++s) {
    widest = std::max(widest, l.table.boundary_bytes(static_cast<std::size_t>(mine[s].begin)));
    cargo.units.push_back(unit_id(mine[s].begin));
  }
  if (widest.value > 0) add_copy(l, loop, "stage boundaries", Term::copy, widest, std::move(cargo));
  loop.children.push_back(fixed("per micro-batch", l.table.model().calibration().micro_batch_fixed));
  loop.children.push_back(fixed("per pass", l.table.model().calibration().pass_fixed(l.table.training())));
  return loop;
}

void update_phase(Lowering& l, Node& to, std::int64_t j) {
  join_tied_gradients(l, to, j);
  Node all = parallel("update phase " + std::to_string(j));
  all.phase = j;
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) {
    if (l.held.new_weights_of(i, j).value == 0) continue;
    Node branch = sequence("IPU " + std::to_string(i));
    branch.ipu = i;
    update_of(l, branch, i, j);
    all.children.push_back(std::move(branch));
  }
  to.children.push_back(std::move(all));
}

// micro_batch_outer: accumulators of a phase leave with it.
Node spill_phase(const Lowering& l, std::int64_t j) {
  Node all = parallel("accumulators of phase " + std::to_string(j));
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) {
    const std::int64_t degree = l.plan.replicated_tensor_sharding.gradients;
    const Bytes whole(l.held.parameters_of(i, j, true) * size_of(l.plan.precision.accumulators)),
        b = sharded(whole, degree);
    if (b.value == 0) continue;
    const std::vector<UnitId> units = l.held.units_on(i, j);
    Node branch = sequence("IPU " + std::to_string(i));
    branch.ipu = i;
    add_collective(branch, "scatter gradients", CollectiveKind::reduce_scatter, Term::gradient_collective,
                   shard_group(l.plan, degree), whole, {Data::gradients, units});
    add_streamed(l, branch, "fetch accumulators", StepKind::load, b, accumulators_at(l.plan),
                 {Data::accumulators, units});
    add_streamed(l, branch, "put back accumulators", StepKind::store, b, accumulators_at(l.plan),
                 {Data::accumulators, units});
    all.children.push_back(std::move(branch));
  }
  return all;
}

// One pass of one phase. The weights of the last phase are still there when its backward begins.
void add_phase(Lowering& l, Node& whole, std::int64_t j, bool forward, std::int64_t next) {
  const bool resident = !forward && j + 1 == phase_count(l);
  Node body = sequence("phase " + std::to_string(j) + (forward ? " forward" : " backward"));
  body.phase = j;
  if (!resident) load_phase(l, body, j, false);
  Node both = parallel("compute and preload");
  both.children.push_back(phase_work(l, j, forward));
  if (next >= 0) load_phase(l, both, next, true);
  body.children.push_back(both.children.size() > 1 ? std::move(both) : std::move(both.children[0]));
  if (!forward) {
    if (l.plan.phase_order == PhaseOrder::phase_outer)
      update_phase(l, body, j);
    else
      body.children.push_back(spill_phase(l, j));
  }
  whole.children.push_back(std::move(body));
}

}  // namespace

void lower_phases(Lowering& l) {
  const bool outer = l.plan.phase_order == PhaseOrder::phase_outer;
  Node whole =
      outer ? sequence("phases") : repeat("micro-batches", l.plan.gradient_accumulation, l.plan.gradient_accumulation);
  const std::int64_t n = phase_count(l);
  // Nothing hides the first phase's. In training its phase's backward comes last, so that its weights are still there
  // when the next micro-batch begins; in inference they have gone.
  const bool every_time = !outer && !l.table.training();
  load_phase(l, every_time ? whole : l.program.root, 0, true);
  for (std::int64_t j = 0; j < n; ++j) add_phase(l, whole, j, true, j + 1 < n ? j + 1 : -1);
  for (std::int64_t j = n; l.table.training() && j-- > 0;) add_phase(l, whole, j, false, j > 0 ? j - 1 : -1);
  l.program.root.children.push_back(std::move(whole));
  // From the last to the first, so that gradients of borrowed weights come before their owners' update.
  for (std::int64_t j = n; l.table.training() && !outer && j-- > 0;) update_phase(l, l.program.root, j);
  if (l.table.training()) return_tied_weights(l, l.program.root);
  const bool waits = preloads(l, l.plan.load.weights) || preloads(l, l.plan.load.code);
  for (std::int64_t i = 0; waits && i < l.plan.pipeline_stages; ++i) l.program.preloaded.push_back(preloaded(l, i));
}

}  // namespace superstep
