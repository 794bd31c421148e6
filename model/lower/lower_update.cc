// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/lower/lowering.h"

namespace superstep {
namespace {

// Reduce-scatter, update on the shard, gather the new weights: the traffic of one all-reduce.
// Without shards every replica reduces all and updates all.
void reduce_gradients(const Lowering& l, Node& to, Bytes gradient, const Cargo& cargo) {
  const std::int64_t shards = l.plan.replicated_tensor_sharding.optimizer_state, already = gradient_shards(l.plan);
  const Replicas replicas = replicas_of(l.plan);
  auto reduce = [&](const char* name, CollectiveKind kind, GroupShape group, Bytes bytes) {
    add_collective(to, name, kind, Term::gradient_collective, group, bytes, cargo);
  };
  const std::int64_t degree = std::max(shards, already);
  const GroupShape group = replicas.group(degree), across = replicas.group(replicas.count, degree);
  if (degree == 1) return reduce("all-reduce gradients", CollectiveKind::all_reduce, across, gradient);
  if (already == 1) reduce("reduce-scatter gradients", CollectiveKind::reduce_scatter, group, gradient);
  reduce("reduce gradients across groups", CollectiveKind::all_reduce, across, sharded(gradient, degree));
  if (shards == 1) reduce("gather gradients", CollectiveKind::all_gather, group, gradient);
}

// Adds loaded optimiser state to what is live all through an update.
void hold_state(Function& f, Bytes loaded, const GraphFacts& facts) {
  if (loaded == Bytes(0)) return;
  f.peak += loaded, f.standing += loaded;
  for (Step& s : f.steps) s.live += loaded;
  TensorId state;  // the first that the update reads stands for all
  for (OpId op : facts.graph.units[f.unit].ops[static_cast<std::size_t>(Pass::update)]) {
    for (TensorId t : facts.graph.ops[op].inputs) {
      if (!state.valid() && t.valid() && facts.graph.tensors[t].kind == TensorKind::optimizer_state) state = t;
    }
  }
  f.live.insert(f.live.begin(), {state, false, false, loaded, 0, static_cast<std::int32_t>(f.steps.size()) - 1});
}

FunctionId update_function(Lowering& l, std::size_t u) {
  FunctionId& id = l.updates[l.table.kind(u)];
  if (id.valid()) return id;
  const std::int64_t shards = l.plan.replicated_tensor_sharding.optimizer_state;
  Function f = l.table.function(u, Pass::update, shard_group(l.plan, shards));
  hold_state(f,
             l.table.row(u).loaded_state(l.plan.location.optimizer_state, l.held.state_bytes, shards, l.table.tiles()),
             l.table.facts());
  return id = l.program.functions.push_back(std::move(f));
}

void spill_tied(const Lowering& l, Node& to, std::string name, StepKind kind, std::int64_t ipu, Bytes bytes,
                const Cargo& cargo) {
  Node on = sequence("IPU " + std::to_string(ipu));
  on.ipu = ipu;
  add_streamed(l, on, std::move(name), kind, bytes, Location::streaming, cargo);
  to.children.push_back(std::move(on));
}

}  // namespace

void update_of(Lowering& l, Node& to, std::int64_t ipu, std::int64_t phase) {
  const std::int64_t shards = l.plan.replicated_tensor_sharding.optimizer_state;
  const std::vector<UnitId> units = l.held.units_on(ipu, phase);
  const Bytes gradient(l.held.parameters_of(ipu, phase, false) * size_of(l.plan.precision.accumulators));
  add_streamed(l, to, "fetch accumulators", StepKind::load, sharded(gradient, gradient_shards(l.plan)),
               accumulators_at(l.plan), {Data::accumulators, units});
  reduce_gradients(l, to, gradient, {Data::gradients, units});
  const Bytes weights = l.held.new_weights_of(ipu, phase);
  if (update_loads(l.plan))
    add_streamed(l, to, "load weights", StepKind::load, sharded(weights, shards), l.plan.location.weights,
                 {Data::weights, units});
  const Bytes state = sharded(Bytes(l.held.parameters_of(ipu, phase, false) * l.held.state_bytes), shards);
  const Cargo states{Data::optimizer_state, units};
  add_streamed(l, to, "load optimizer state", StepKind::load, state, l.plan.location.optimizer_state, states);
  l.held.for_units(ipu, phase, [&](std::size_t u) {
    if (l.table.row(u).parameters == 0) return;
    Node n;
    n.kind = Node::Kind::call;
    n.unit = UnitId(u);
    n.function = update_function(l, u);
    n.name = l.table.facts().graph.units[n.unit].name + " update";
    to.children.push_back(std::move(n));
  });
  add_streamed(l, to, "store optimizer state", StepKind::store, state, l.plan.location.optimizer_state, states);
  const std::int64_t weight_shards = l.plan.replicated_tensor_sharding.weights;
  if (shards > weight_shards) {
    add_collective(to, "gather new weights", CollectiveKind::all_gather, Term::gradient_collective,
                   replicas_of(l.plan).group(shards, weight_shards), sharded(weights, weight_shards),
                   {Data::new_weights, units});
  }
  add_streamed(l, to, "store weights", StepKind::store, sharded(weights, weight_shards), l.plan.location.weights,
               {Data::new_weights, units});
}

// Before the update the gradients of borrowed weights join their owners': in one phase from IPU to IPU,
// between phases through Streaming Memory. phase -1: all is one phase.
void join_tied_gradients(const Lowering& l, Node& to, std::int64_t phase) {
  for (const Tie& tie : ties(l.plan, l.table.facts())) {
    const Bytes bytes = tied_gradients(l.table, l.plan, tie);
    const Cargo cargo{Data::tied_gradients, {unit_id(tie.borrower)}};
    if (tie.same_phase && tie.owner_ipu != tie.borrower_ipu && (phase < 0 || tie.owner_phase == phase))
      add_copy(l, to, "tied gradients", Term::gradient_collective, bytes, cargo);
    if (tie.same_phase) continue;
    if (tie.borrower_phase == phase)
      spill_tied(l, to, "store tied gradients", StepKind::store, tie.borrower_ipu, bytes, cargo);
    if (tie.owner_phase == phase) spill_tied(l, to, "load tied gradients", StepKind::load, tie.owner_ipu, bytes, cargo);
  }
}

// The new values go back to the IPUs that borrow them, and to where those keep them.
void return_tied_weights(const Lowering& l, Node& to) {
  for (const Tie& tie : ties(l.plan, l.table.facts())) {
    if (tie.owner_ipu == tie.borrower_ipu) continue;
    const Bytes bytes = sharded(l.table.row(static_cast<std::size_t>(tie.borrower)).borrowed_bytes,
                                l.plan.replicated_tensor_sharding.weights);
    const Cargo cargo{Data::tied_weights, {unit_id(tie.borrower)}};
    add_copy(l, to, "tied weights", Term::gradient_collective, bytes, cargo);
    Node on = sequence("IPU " + std::to_string(tie.borrower_ipu));
    on.ipu = tie.borrower_ipu;
    add_streamed(l, on, "store tied weights", StepKind::store, bytes, l.plan.location.weights, cargo);
    if (!on.children.empty()) to.children.push_back(std::move(on));
  }
}

}  // namespace superstep
