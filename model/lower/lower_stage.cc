// SPDX-License-Identifier: Apache-2.0
#include "model/lower/lowering.h"

namespace superstep {
namespace {

Node call(Lowering& l, std::int64_t unit, Pass pass, std::int64_t lag, bool recompute, bool keeps) {
  Node n;
  n.kind = Node::Kind::call;
  n.unit = UnitId(static_cast<std::int32_t>(unit));
  const auto u = static_cast<std::size_t>(unit);
  auto& ids = pass == Pass::forward ? l.forward : l.backward;
  FunctionId& id = ids[static_cast<std::size_t>(l.table.kind(u))];
  if (!id.valid()) id = l.program.functions.push_back(l.table.function(u, pass));
  n.function = id;
  n.lag = lag;
  n.recompute = recompute;
  n.keeps = keeps;
  n.name = l.table.facts().graph.units[n.unit].name + (recompute               ? " recompute"
                                                       : pass == Pass::forward ? " forward"
                                                                               : " backward");
  return n;
}

// Weights stored in shards are joined before each use, one unit's at a time, unless a phase has joined them for all of
// it.
void gather_weights(const Lowering& l, Node& to, std::int64_t u) {
  if (l.plan.phased() || l.plan.replicated_tensor_sharding.weights == 1) return;
  const UnitRow& row = l.table.row(static_cast<std::size_t>(u));
  add_collective(to, "gather weights", CollectiveKind::all_gather, Term::gradient_collective,
                 shard_group(l.plan, l.plan.replicated_tensor_sharding.weights), row.weight_bytes + row.borrowed_bytes,
                 {Data::weights, {unit_id(u)}});
}

// Sharded accumulators take their share of each micro-batch's gradient.
void scatter_gradients(const Lowering& l, Node& to, std::int64_t u) {
  if (l.plan.phased() || l.plan.replicated_tensor_sharding.gradients == 1) return;
  add_collective(to, "scatter gradients", CollectiveKind::reduce_scatter, Term::gradient_collective,
                 shard_group(l.plan, l.plan.replicated_tensor_sharding.gradients), l.held.accumulator_bytes(u),
                 {Data::gradients, {unit_id(u)}});
}

// Accumulators held elsewhere are fetched and put back for each micro-batch.
void spill_gradients(const Lowering& l, Node& to, std::int64_t u) {
  if (l.plan.phased() || l.plan.location.gradients == Location::in_processor) return;
  const Bytes b = sharded(l.held.accumulator_bytes(u), l.plan.replicated_tensor_sharding.gradients);
  const Cargo cargo{Data::accumulators, {unit_id(u)}};
  add_streamed(l, to, "fetch accumulators", StepKind::load, b, l.plan.location.gradients, cargo);
  add_streamed(l, to, "put back accumulators", StepKind::store, b, l.plan.location.gradients, cargo);
}

// Adds the transfer of the stage's inputs from the host, or of its results to the host.
void add_host(const Lowering& l, Node& to, const StageSpan& s, Data data) {
  const bool in = data == Data::inputs;
  Bytes bytes(0);
  for (std::int64_t u = s.begin; u < s.end; ++u) {
    const UnitRow& row = l.table.row(static_cast<std::size_t>(u));
    bytes += in ? row.feed_bytes : row.result_bytes;
  }
  if (bytes.value == 0) return;
  to.children.push_back(
      step(in ? "host input" : "host output", StepKind::host, Term::host, bytes, {data, run_of(s.begin, s.end)}));
  to.children.back().step.beside = l.plan.io_tiles > 0;
}

void offload(const Lowering& l, Node& to, const StageSpan& s, StepKind kind) {
  if (l.plan.phased() || !l.table.training() || l.plan.location.activations == Location::in_processor) return;
  add_streamed(l, to, kind == StepKind::store ? "stash" : "restore", kind, l.held.stash_entry(s, false),
               l.plan.location.activations, {Data::stash, run_of(s.begin, s.end)});
}

}  // namespace

void forward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool backward_follows) {
  add_host(l, to, s, Data::inputs);
  const auto list = l.held.blocks(s);
  for (std::size_t b = 0; b < list.size(); ++b) {
    // The block whose backward comes next keeps what it reads: no second run.
    const bool keeps = backward_follows && b + 1 == list.size() && s.recompute != Recompute::none;
    for (std::int64_t u = list[b].first; u < list[b].second; ++u) {
      gather_weights(l, to, u);
      to.children.push_back(call(l, u, Pass::forward, lag, false, keeps));
      to.children.back().keeps_results = keeps && u + 1 < list[b].second;
    }
  }
  add_host(l, to, s, Data::results);
  offload(l, to, s, StepKind::store);
}

void join_boundary(const Lowering& l, Node& to, const std::string& name, std::int64_t unit, Data data) {
  if (l.plan.activation_sharding == ActivationSharding::none) return;
  const Boundary& b = l.table.boundary(static_cast<std::size_t>(unit));
  const GroupShape all = mesh_of(l.plan), rest = mesh_group(l.plan.tensor_parallel, 1, all.stride);
  add_collective(to, name, CollectiveKind::all_gather, Term::tensor_collective, all, b.gather_all,
                 {data, {unit_id(unit)}});
  add_collective(to, name, CollectiveKind::all_gather, Term::tensor_collective, rest, b.gather_rest,
                 {data, {unit_id(unit)}});
}

void backward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool forward_was_last) {
  offload(l, to, s, StepKind::load);
  if (!l.plan.phased() && s.recompute == Recompute::none && !forward_was_last)
    join_boundary(l, to, "gather stash", s.begin, Data::stash_shards);
  const auto list = l.held.blocks(s);
  for (std::size_t n = list.size(); n-- > 0;) {
    const bool kept = s.recompute == Recompute::none || (forward_was_last && n + 1 == list.size());
    if (!kept) {
      if (!l.plan.phased()) join_boundary(l, to, "gather stash", list[n].first, Data::stash_shards);
      for (std::int64_t u = list[n].first; u < list[n].second; ++u) {
        gather_weights(l, to, u);
        to.children.push_back(call(l, u, Pass::forward, lag, true, true));
        to.children.back().keeps_results = u + 1 < list[n].second;
      }
    }
    for (std::int64_t u = list[n].second; u-- > list[n].first;) {
      if (kept || u + 1 < list[n].second) gather_weights(l, to, u);  // the last one's stand since it was run again
      to.children.push_back(call(l, u, Pass::backward, lag, false, false));
      scatter_gradients(l, to, u);
      spill_gradients(l, to, u);
    }
  }
}

void add_streamed(const Lowering& l, Node& to, std::string name, StepKind kind, Bytes bytes, Location where,
                  Cargo cargo) {
  if (where == Location::in_processor || bytes.value == 0) return;
  Node n = step(std::move(name), kind, kind == StepKind::load ? Term::load : Term::store, bytes, std::move(cargo));
  n.step.location = where;
  n.step.group = {2, lender_stride(l.plan, where, l.table.model().machine().ipus_per_machine)};
  to.children.push_back(std::move(n));
}

void add_copy(const Lowering& l, Node& to, std::string name, Term term, Bytes bytes, Cargo cargo) {
  Node n = step(std::move(name), StepKind::copy, term, bytes, std::move(cargo));
  n.step.group = GroupShape{2, l.plan.strides().stage};
  n.step.holders = mesh_of(l.plan);
  to.children.push_back(std::move(n));
}

}  // namespace superstep
