// SPDX-License-Identifier: Apache-2.0
#include "model/lower/lower.h"

#include <algorithm>

#include "model/lower/lowering.h"
#include "model/lower/residents.h"

namespace superstep {
namespace {

// Returns what the stages of each IPU do in one iteration of a pipeline.
Node stage_branches(Lowering& l, bool forward, bool backward) {
  Node cycle = parallel("pipeline cycle");
  const std::int64_t last = static_cast<std::int64_t>(l.held.spans.size()) - 1;
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) {
    Node branch = sequence("IPU " + std::to_string(i));
    branch.ipu = i;
    for (std::int64_t s = 0; forward && s <= last; ++s) {
      const StageSpan& span = l.held.spans[static_cast<std::size_t>(s)];
      if (span.ipu == i) forward_calls(l, branch, span, s, s == last && backward);
    }
    for (std::int64_t s = last; backward && s >= 0; --s) {
      const StageSpan& span = l.held.spans[static_cast<std::size_t>(s)];
      if (span.ipu == i) backward_calls(l, branch, span, 2 * last - s, s == last && forward);
    }
    cycle.children.push_back(std::move(branch));
  }
  return cycle;
}

// What crosses into stage s, on its way there or its gradients on the way back.
void serial_copy(const Lowering& l, Node& loop, std::int64_t s, Data data) {
  const StageSpan &from = l.held.spans[static_cast<std::size_t>(s) - 1],
                  &to = l.held.spans[static_cast<std::size_t>(s)];
  if (from.ipu == to.ipu) return;
  add_copy(l, loop, "stage boundaries", Term::copy, l.table.boundary_bytes(static_cast<std::size_t>(to.begin)),
           {data, {unit_id(to.begin)}});
}

void serial_stages(Lowering& l, Node& loop) {
  const std::int64_t last = static_cast<std::int64_t>(l.held.spans.size()) - 1;
  auto one = [&](std::int64_t s, bool forward) {
    const StageSpan& span = l.held.spans[static_cast<std::size_t>(s)];
    Node branch = sequence("IPU " + std::to_string(span.ipu));
    branch.ipu = span.ipu;
    if (forward)
      forward_calls(l, branch, span, 0, s == last && l.table.training());
    else
      backward_calls(l, branch, span, 0, s == last);
    Node alone = parallel("stage " + std::to_string(s));
    alone.children.push_back(std::move(branch));
    loop.children.push_back(std::move(alone));
  };
  for (std::int64_t s = 0; s <= last; ++s) {
    if (s > 0) serial_copy(l, loop, s, Data::activations);
    one(s, true);
  }
  for (std::int64_t s = last; l.table.training() && s >= 0; --s) {
    if (s < last) serial_copy(l, loop, s + 1, Data::activation_gradients);
    one(s, false);
  }
}

// The widest boundary sets the copy: all IPUs send at once, activations one way, gradients the other.
void boundary_copies(const Lowering& l, Node& loop) {
  Bytes widest(0);
  Cargo cargo{l.table.training() ? Data::boundaries : Data::activations, {}};
  for (std::size_t s = 1; s < l.held.spans.size(); ++s) {
    if (l.held.spans[s].ipu == l.held.spans[s - 1].ipu) continue;
    widest = std::max(widest, l.table.boundary_bytes(static_cast<std::size_t>(l.held.spans[s].begin)));
    cargo.units.push_back(unit_id(l.held.spans[s].begin));
  }
  if (widest.value > 0) add_copy(l, loop, "stage boundaries", Term::copy, widest, std::move(cargo));
}

// Weights that live outside the processor between steps come in once; the update takes them back.
void stream_weights(const Lowering& l, Node& to) {
  if (l.plan.location.weights == Location::in_processor) return;
  Bytes most(0);
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) most = std::max(most, l.held.weights_of(i, -1));
  add_streamed(l, to, "load weights", StepKind::load, sharded(most, l.plan.replicated_tensor_sharding.weights),
               l.plan.location.weights, {Data::weights, run_of(0, static_cast<std::int64_t>(l.table.units()))});
}

Node update_all(Lowering& l) {
  Node all = parallel("weight update");
  for (std::int64_t i = 0; i < l.plan.pipeline_stages; ++i) {
    Node branch = sequence("IPU " + std::to_string(i));
    branch.ipu = i;
    update_of(l, branch, i, -1);
    all.children.push_back(std::move(branch));
  }
  return all;
}

bool overlaps(const Lowering& l) { return l.plan.schedule != Schedule::sequential && l.held.spans.size() > 1; }

// What all stages do in one iteration, with the copies between them.
void add_cycle(Lowering& l, Node& loop) {
  if (!overlaps(l)) {
    serial_stages(l, loop);
  } else if (l.plan.schedule == Schedule::interleaved) {
    // All forwards, then all backwards: balanced separately, with half the stash.
    loop.children.push_back(stage_branches(l, true, false));
    if (l.table.training()) loop.children.push_back(stage_branches(l, false, true));
  } else {
    loop.children.push_back(stage_branches(l, true, l.table.training()));
  }
  if (overlaps(l)) boundary_copies(l, loop);
  const Calibration& fitted = l.table.model().calibration();
  loop.children.push_back(fixed("per micro-batch", fitted.micro_batch_fixed));
  if (l.held.spans.size() > 1) loop.children.push_back(fixed("per pipeline cycle", fitted.pipeline_cycle_fixed));
}

void add_micro_batches(Lowering& l) {
  const std::int64_t g = l.plan.gradient_accumulation, last = static_cast<std::int64_t>(l.held.spans.size()) - 1;
  const std::int64_t drain = !overlaps(l) ? 0 : l.table.training() ? 2 * last : last;
  Node loop =
      repeat(l.plan.schedule == Schedule::interleaved && overlaps(l) ? "interleaved micro-batches" : "micro-batches",
             g + drain, g);
  add_cycle(l, loop);
  l.program.root.children.push_back(std::move(loop));
}

void lower_pipeline(Lowering& l) {
  stream_weights(l, l.program.root);
  add_micro_batches(l);
  if (!l.table.training()) return;
  join_tied_gradients(l, l.program.root, -1);
  l.program.root.children.push_back(update_all(l));
  return_tied_weights(l, l.program.root);
}

}  // namespace

Program lower(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer) {
  Lowering l{table, plan, Holdings(table, plan, optimizer)};
  l.program.compute_tiles = table.tiles();
  l.forward.resize(table.kinds());
  l.backward.resize(table.kinds());
  l.program.root.name = table.training() ? "optimiser step" : "inference";
  if (plan.phased())
    lower_phases(l);
  else
    lower_pipeline(l);
  for (std::int64_t ipu = 0; ipu < plan.pipeline_stages; ++ipu) {
    l.program.residents.push_back(residents_of(l.held, ipu));
    l.program.ddr.push_back(ddr_of(l.held, ipu));
  }
  return std::move(l.program);
}

}  // namespace superstep
