// SPDX-License-Identifier: Apache-2.0
#include "model/lower/lower.h"

#include <algorithm>
#include <set>

#include "model/error.h"

namespace superstep {
namespace {

// What a step outside of functions moves, and whose.
struct Cargo {
  Data data = Data::none;
  std::vector<UnitId> units;
};

class PlanLowering {
 public:
  PlanLowering(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer)
      : t_(table),
        plan_(plan),
        spans_(stage_spans(plan, static_cast<std::int64_t>(table.units()))),
        state_bytes_(state_bytes_per_parameter(optimizer)) {}

  Program run() {
    program_.compute_tiles = t_.tiles();
    for (std::size_t r = 0; r < t_.kinds(); ++r) forward_.push_back(FunctionId()), backward_.push_back(FunctionId());
    program_.root.name = t_.training() ? "optimiser step" : "inference";
    if (plan_.phased())
      phased();
    else
      pipelined();
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) hold(i);
    return std::move(program_);
  }

 private:
  const UnitTable& t_;
  const Plan& plan_;
  std::vector<StageSpan> spans_;
  std::int64_t state_bytes_;
  Program program_;
  std::vector<FunctionId> forward_, backward_;  // by table row
  std::map<std::int32_t, FunctionId> updates_;  // by table row

  // ---- nodes

  static Node sequence(std::string name) {
    Node n;
    n.name = std::move(name);
    return n;
  }
  static Node parallel(std::string name) {
    Node n;
    n.kind = Node::Kind::parallel;
    n.name = std::move(name);
    return n;
  }
  static Node repeat(std::string name, std::int64_t count, std::int64_t micro_batches) {
    Node n;
    n.kind = Node::Kind::repeat;
    n.name = std::move(name);
    n.count = count;
    n.micro_batches = micro_batches;
    return n;
  }
  static UnitId unit_id(std::int64_t u) { return UnitId(static_cast<std::int32_t>(u)); }
  static std::vector<UnitId> run_of(std::int64_t begin, std::int64_t end) {
    std::vector<UnitId> list;
    for (std::int64_t u = begin; u < end; ++u) list.push_back(unit_id(u));
    return list;
  }
  std::vector<UnitId> units_on(std::int64_t ipu, std::int64_t phase) const {
    std::vector<UnitId> list;
    for_units(ipu, phase, [&](std::size_t u) { list.push_back(unit_id(static_cast<std::int64_t>(u))); });
    return list;
  }
  static Node step(std::string name, StepKind kind, Term term, Bytes bytes, Cargo cargo = {}) {
    Node n;
    n.kind = Node::Kind::step;
    n.name = std::move(name);
    n.step.kind = kind;
    n.step.term = term;
    n.step.tile_bytes = bytes;
    n.step.data = cargo.data;
    n.step.units = std::move(cargo.units);
    return n;
  }
  static void add_collective(Node& to, std::string name, CollectiveKind kind, Term term, GroupShape group, Bytes bytes,
                             Cargo cargo = {}) {
    if (bytes.value == 0 || group.size == 1) return;
    Node n = step(std::move(name), StepKind::collective, term, bytes, std::move(cargo));
    n.step.collective = kind;
    n.step.group = group;
    to.children.push_back(std::move(n));
  }
  static Node fixed(std::string name, Cycles cycles) {
    Node n = step(std::move(name), StepKind::fixed, Term::fixed, Bytes(0));
    n.step.vector = cycles;
    return n;
  }
  Node call(std::int64_t unit, Pass pass, std::int64_t lag, bool recompute, bool keeps) {
    Node n;
    n.kind = Node::Kind::call;
    n.unit = UnitId(static_cast<std::int32_t>(unit));
    const auto u = static_cast<std::size_t>(unit);
    auto& ids = pass == Pass::forward ? forward_ : backward_;
    FunctionId& id = ids[static_cast<std::size_t>(t_.kind(u))];
    if (!id.valid()) id = program_.functions.push_back(t_.function(u, pass));
    n.function = id;
    n.lag = lag;
    n.recompute = recompute;
    n.keeps = keeps;
    n.name = t_.facts().graph.units[n.unit].name + (recompute               ? " recompute"
                                                    : pass == Pass::forward ? " forward"
                                                                            : " backward");
    return n;
  }

  // ---- a stage's work on one micro-batch

  // Runs of units that are recomputed together before their backward passes.
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks(const StageSpan& s) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (std::int64_t u = s.begin; u < s.end; ++u) {
      const bool joins = !out.empty() && (s.recompute == Recompute::stage || same_layer(u - 1, u));
      if (joins)
        out.back().second = u + 1;
      else
        out.push_back({u, u + 1});
    }
    return out;
  }
  bool same_layer(std::int64_t a, std::int64_t b) const {
    const std::int64_t layer = t_.layer(static_cast<std::size_t>(a));
    return layer >= 0 && layer == t_.layer(static_cast<std::size_t>(b));
  }

  void forward_calls(Node& to, const StageSpan& s, std::int64_t lag, bool backward_follows) {
    Bytes feeds(0);
    for (std::int64_t u = s.begin; u < s.end; ++u) feeds += t_.row(static_cast<std::size_t>(u)).feed_bytes;
    if (feeds.value > 0) {
      to.children.push_back(
          step("host input", StepKind::host, Term::host, feeds, {Data::inputs, run_of(s.begin, s.end)}));
    }
    const auto list = blocks(s);
    for (std::size_t b = 0; b < list.size(); ++b) {
      // The block whose backward comes next keeps what it reads: no second run.
      const bool keeps = backward_follows && b + 1 == list.size() && s.recompute != Recompute::none;
      for (std::int64_t u = list[b].first; u < list[b].second; ++u) {
        gather_weights(to, u);
        to.children.push_back(call(u, Pass::forward, lag, false, keeps));
        to.children.back().keeps_results = keeps && u + 1 < list[b].second;
      }
    }
    offload(to, s, StepKind::store);
  }

  void backward_calls(Node& to, const StageSpan& s, std::int64_t lag, bool forward_was_last) {
    offload(to, s, StepKind::load);
    if (!plan_.phased() && s.recompute == Recompute::none && !forward_was_last)
      join_boundary(to, "gather stash", s.begin);
    const auto list = blocks(s);
    for (std::size_t n = list.size(); n-- > 0;) {
      const bool kept = s.recompute == Recompute::none || (forward_was_last && n + 1 == list.size());
      if (!kept) {
        if (!plan_.phased()) join_boundary(to, "gather stash", list[n].first);
        for (std::int64_t u = list[n].first; u < list[n].second; ++u) {
          gather_weights(to, u);
          to.children.push_back(call(u, Pass::forward, lag, true, true));
          to.children.back().keeps_results = u + 1 < list[n].second;
        }
      }
      for (std::int64_t u = list[n].second; u-- > list[n].first;) {
        if (kept) gather_weights(to, u);
        to.children.push_back(call(u, Pass::backward, lag, false, false));
        scatter_gradients(to, u);
        spill_gradients(to, u);
      }
    }
  }

  // Weights stored in shards are joined before each use, unless a phase has joined them for all of it.
  void gather_weights(Node& to, std::int64_t u) {
    if (plan_.phased() || plan_.replicated_tensor_sharding.weights == 1) return;
    add_collective(to, "gather weights", CollectiveKind::all_gather, Term::gradient_collective,
                   shard_group(plan_, plan_.replicated_tensor_sharding.weights),
                   t_.row(static_cast<std::size_t>(u)).weight_bytes, {Data::weights, {unit_id(u)}});
  }
  // Sharded accumulators take their share of each micro-batch's gradient.
  void scatter_gradients(Node& to, std::int64_t u) {
    if (plan_.phased() || plan_.replicated_tensor_sharding.gradients == 1) return;
    add_collective(to, "scatter gradients", CollectiveKind::reduce_scatter, Term::gradient_collective,
                   shard_group(plan_, plan_.replicated_tensor_sharding.gradients), accumulator_bytes(u),
                   {Data::gradients, {unit_id(u)}});
  }
  // Accumulators held elsewhere are fetched and put back for each micro-batch.
  void spill_gradients(Node& to, std::int64_t u) {
    if (plan_.phased() || plan_.location.gradients == Location::in_processor) return;
    const Bytes b = sharded(accumulator_bytes(u), plan_.replicated_tensor_sharding.gradients);
    const Cargo cargo{Data::accumulators, {unit_id(u)}};
    streamed(to, "fetch accumulators", StepKind::load, b, plan_.location.gradients, cargo);
    streamed(to, "put back accumulators", StepKind::store, b, plan_.location.gradients, cargo);
  }
  void streamed(Node& to, std::string name, StepKind kind, Bytes bytes, Location where, Cargo cargo = {}) {
    if (where == Location::in_processor || bytes.value == 0) return;
    Node n = step(std::move(name), kind, kind == StepKind::load ? Term::load : Term::store, bytes, std::move(cargo));
    n.step.location = where;
    n.step.group = {2, lender_stride(plan_, where, t_.model().machine().ipus_per_machine)};
    to.children.push_back(std::move(n));
  }
  void offload(Node& to, const StageSpan& s, StepKind kind) {
    if (plan_.phased() || !t_.training() || plan_.location.activations == Location::in_processor) return;
    streamed(to, kind == StepKind::store ? "stash" : "restore", kind, stash_entry(s, false), plan_.location.activations,
             {Data::stash, run_of(s.begin, s.end)});
  }

  Bytes accumulator_bytes(std::int64_t u) const {
    const UnitRow& row = t_.row(static_cast<std::size_t>(u));
    return Bytes((row.parameters + row.borrowed_parameters) * size_of(plan_.precision.accumulators));
  }

  // One stash entry of a stage: what its recompute mode stores for one micro-batch; per tile or per IPU.
  Bytes stash_entry(const StageSpan& s, bool tile) const {
    Bytes b(0);
    auto boundary = [&](std::int64_t u) {
      const Boundary& in = t_.boundary(static_cast<std::size_t>(u));
      if (plan_.activation_sharding != ActivationSharding::none) return tile ? in.shard_tile : in.shard;
      return tile ? in.tile : in.bytes;
    };
    if (s.recompute == Recompute::none) {
      b = boundary(s.begin);
      for (std::int64_t u = s.begin; u < s.end; ++u) {
        const Footprint& f = t_.row(static_cast<std::size_t>(u)).forward;
        const Bytes kept = f.kept + (u + 1 < s.end ? f.crossing : Bytes(0));
        b += tile ? kept : kept * t_.tiles();
      }
    } else {
      for (const auto& [first, last] : blocks(s)) b += boundary(first);
    }
    for (std::int64_t u = s.begin; u < s.end; ++u) {
      const UnitRow& row = t_.row(static_cast<std::size_t>(u));
      b += tile ? row.feed_tile : row.feed_bytes;
    }
    return b;
  }

  // ---- pipelines

  void pipelined() {
    const std::int64_t g = plan_.gradient_accumulation, last = static_cast<std::int64_t>(spans_.size()) - 1;
    const bool overlap = plan_.schedule != Schedule::sequential && last > 0;
    const std::int64_t drain = !overlap ? 0 : t_.training() ? 2 * last : last;
    Node loop = repeat("micro-batches", g + drain, g);
    if (plan_.schedule == Schedule::interleaved && overlap) {
      loop.children.push_back(stage_branches(true, false));
      if (t_.training()) loop.children.push_back(stage_branches(false, true));
      // All forwards, then all backwards: balanced separately, with half the stash.
      loop.name = "interleaved micro-batches";
    } else if (overlap) {
      loop.children.push_back(stage_branches(true, t_.training()));
    } else {
      serial_stages(loop);
    }
    if (overlap) boundary_copies(loop);
    loop.children.push_back(fixed("per micro-batch", t_.model().calibration().micro_batch_fixed));
    if (last > 0) loop.children.push_back(fixed("per pipeline cycle", t_.model().calibration().pipeline_cycle_fixed));
    stream_weights(program_.root, StepKind::load);
    program_.root.children.push_back(std::move(loop));
    if (!t_.training()) return;
    tied_gradients(program_.root, -1);
    program_.root.children.push_back(update_all());
    tied_weights(program_.root);
  }

  Node stage_branches(bool forward, bool backward) {
    Node cycle = parallel("pipeline cycle");
    const std::int64_t last = static_cast<std::int64_t>(spans_.size()) - 1;
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) {
      Node branch = sequence("IPU " + std::to_string(i));
      branch.ipu = i;
      for (std::int64_t s = 0; forward && s <= last; ++s) {
        const StageSpan& span = spans_[static_cast<std::size_t>(s)];
        if (span.ipu == i) forward_calls(branch, span, s, s == last && backward);
      }
      for (std::int64_t s = last; backward && s >= 0; --s) {
        const StageSpan& span = spans_[static_cast<std::size_t>(s)];
        if (span.ipu == i) backward_calls(branch, span, 2 * last - s, s == last && forward);
      }
      cycle.children.push_back(std::move(branch));
    }
    return cycle;
  }

  void serial_stages(Node& loop) {
    const std::int64_t last = static_cast<std::int64_t>(spans_.size()) - 1;
    auto one = [&](std::int64_t s, bool forward) {
      const StageSpan& span = spans_[static_cast<std::size_t>(s)];
      Node branch = sequence("IPU " + std::to_string(span.ipu));
      branch.ipu = span.ipu;
      if (forward)
        forward_calls(branch, span, 0, s == last && t_.training());
      else
        backward_calls(branch, span, 0, s == last);
      Node alone = parallel("stage " + std::to_string(s));
      alone.children.push_back(std::move(branch));
      loop.children.push_back(std::move(alone));
    };
    for (std::int64_t s = 0; s <= last; ++s) {
      if (s > 0) serial_copy(loop, s, Data::activations);
      one(s, true);
    }
    for (std::int64_t s = last; t_.training() && s >= 0; --s) {
      if (s < last) serial_copy(loop, s + 1, Data::activation_gradients);
      one(s, false);
    }
  }
  // What crosses into stage s, on its way there or its gradients on the way back.
  void serial_copy(Node& loop, std::int64_t s, Data data) {
    const StageSpan &from = spans_[static_cast<std::size_t>(s) - 1], &to = spans_[static_cast<std::size_t>(s)];
    if (from.ipu == to.ipu) return;
    add_copy(loop, t_.boundary_bytes(static_cast<std::size_t>(to.begin)), {data, {unit_id(to.begin)}});
  }

  // The widest boundary sets the copy: all IPUs send at once, activations one way, gradients the other.
  void boundary_copies(Node& loop) {
    Bytes widest(0);
    Cargo cargo{t_.training() ? Data::boundaries : Data::activations, {}};
    for (std::size_t s = 1; s < spans_.size(); ++s) {
      if (spans_[s].ipu == spans_[s - 1].ipu) continue;
      widest = std::max(widest, t_.boundary_bytes(static_cast<std::size_t>(spans_[s].begin)));
      cargo.units.push_back(unit_id(spans_[s].begin));
    }
    if (widest.value > 0) add_copy(loop, widest, std::move(cargo));
  }
  void add_copy(Node& to, Bytes bytes, Cargo cargo) {
    Node n = step("stage boundaries", StepKind::copy, Term::copy, bytes, std::move(cargo));
    n.step.group = GroupShape{2, plan_.tensor_parallel.size()};
    to.children.push_back(std::move(n));
  }

  // Weights that live outside the processor between steps come in once and go back once.
  void stream_weights(Node& to, StepKind kind) {
    if (plan_.location.weights == Location::in_processor) return;
    Bytes most(0);
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) most = std::max(most, weights_of(i, -1));
    streamed(to, kind == StepKind::load ? "load weights" : "store weights", kind,
             sharded(most, plan_.replicated_tensor_sharding.weights), plan_.location.weights,
             {Data::weights, run_of(0, static_cast<std::int64_t>(t_.units()))});
  }

  // ---- what an IPU group holds, in bytes of one IPU; phase -1: all phases

  template <class F>
  void for_units(std::int64_t ipu, std::int64_t phase, F f) const {
    for (const StageSpan& s : spans_) {
      if (s.ipu != ipu || (phase >= 0 && s.phase != phase)) continue;
      for (std::int64_t u = s.begin; u < s.end; ++u) f(static_cast<std::size_t>(u));
    }
  }
  bool lends_here(std::size_t borrower, std::int64_t ipu, std::int64_t phase) const {
    const auto& borrowed = t_.facts().borrowed[borrower];
    if (borrowed.empty()) return true;
    bool here = false;
    for_units(ipu, phase, [&](std::size_t u) {
      const auto& own = t_.facts().weights[u];
      if (std::find(own.begin(), own.end(), borrowed[0]) != own.end()) here = true;
    });
    return here;
  }
  Bytes weights_of(std::int64_t ipu, std::int64_t phase) const {
    Bytes b(0);
    for_units(ipu, phase, [&](std::size_t u) {
      b += t_.row(u).weight_bytes;
      if (!lends_here(u, ipu, phase)) b += t_.row(u).borrowed_bytes;
    });
    return b;
  }
  Bytes own_weights_of(std::int64_t ipu, std::int64_t phase) const {
    Bytes b(0);
    for_units(ipu, phase, [&](std::size_t u) { b += t_.row(u).weight_bytes; });
    return b;
  }
  Bytes weights_tile(std::int64_t ipu, std::int64_t phase) const {
    Bytes b(0);
    for_units(ipu, phase, [&](std::size_t u) {
      b += t_.row(u).weight_tile;
      if (!lends_here(u, ipu, phase)) b += t_.row(u).borrowed_tile;
    });
    return b;
  }
  std::int64_t parameters_of(std::int64_t ipu, std::int64_t phase, bool with_borrowed) const {
    std::int64_t n = 0;
    for_units(ipu, phase, [&](std::size_t u) {
      n += t_.row(u).parameters;
      if (with_borrowed && !lends_here(u, ipu, phase)) n += t_.row(u).borrowed_parameters;
    });
    return n;
  }

  // ---- the update

  Node update_all() {
    Node all = parallel("weight update");
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) {
      Node branch = sequence("IPU " + std::to_string(i));
      branch.ipu = i;
      update_of(branch, i, -1);
      all.children.push_back(std::move(branch));
    }
    return all;
  }

  void update_of(Node& to, std::int64_t ipu, std::int64_t phase) {
    const std::int64_t shards = plan_.replicated_tensor_sharding.optimizer_state;
    const std::vector<UnitId> units = units_on(ipu, phase);
    const Bytes gradient(parameters_of(ipu, phase, false) * size_of(plan_.precision.accumulators));
    streamed(to, "fetch accumulators", StepKind::load, sharded(gradient, gradient_shards(plan_)),
             accumulators_at(plan_), {Data::accumulators, units});
    reduce_gradients(to, gradient, {Data::gradients, units});
    const Bytes weights = own_weights_of(ipu, phase);
    if (update_loads(plan_))
      streamed(to, "load weights", StepKind::load, sharded(weights, shards), plan_.location.weights,
               {Data::weights, units});
    const Bytes state = sharded(Bytes(parameters_of(ipu, phase, false) * state_bytes_), shards);
    const Cargo states{Data::optimizer_state, units};
    streamed(to, "load optimizer state", StepKind::load, state, plan_.location.optimizer_state, states);
    for_units(ipu, phase, [&](std::size_t u) {
      if (t_.row(u).parameters == 0) return;
      Node n;
      n.kind = Node::Kind::call;
      n.unit = UnitId(u);
      n.function = update_function(u);
      n.name = t_.facts().graph.units[n.unit].name + " update";
      to.children.push_back(std::move(n));
    });
    streamed(to, "store optimizer state", StepKind::store, state, plan_.location.optimizer_state, states);
    const std::int64_t weight_shards = plan_.replicated_tensor_sharding.weights;
    if (shards > weight_shards) {
      const GroupShape group{shards / weight_shards, shard_group(plan_, shards).stride * weight_shards};
      add_collective(to, "gather new weights", CollectiveKind::all_gather, Term::gradient_collective, group,
                     sharded(weights, weight_shards), {Data::new_weights, units});
    }
    streamed(to, "store weights", StepKind::store, sharded(weights, weight_shards), plan_.location.weights,
             {Data::new_weights, units});
  }

  // Reduce-scatter, update on the shard, gather the new weights: the traffic of one all-reduce.
  // Without shards every replica reduces all and updates all.
  void reduce_gradients(Node& to, Bytes gradient, const Cargo& cargo) {
    const std::int64_t shards = plan_.replicated_tensor_sharding.optimizer_state, already = gradient_shards(plan_);
    const GroupShape replicas = replica_group(plan_);
    auto reduce = [&](const char* name, CollectiveKind kind, GroupShape group, Bytes bytes) {
      add_collective(to, name, kind, Term::gradient_collective, group, bytes, cargo);
    };
    const std::int64_t degree = std::max(shards, already);
    const GroupShape group = shard_group(plan_, degree), across{replicas.size / degree, group.stride * degree};
    if (degree == 1) return reduce("all-reduce gradients", CollectiveKind::all_reduce, replicas, gradient);
    if (already == 1) reduce("reduce-scatter gradients", CollectiveKind::reduce_scatter, group, gradient);
    reduce("reduce gradients across groups", CollectiveKind::all_reduce, across, sharded(gradient, degree));
    if (shards == 1) reduce("gather gradients", CollectiveKind::all_gather, group, gradient);
  }

  FunctionId update_function(std::size_t u) {
    FunctionId& id = updates_[t_.kind(u)];
    if (!id.valid())
      id = program_.functions.push_back(
          t_.function(u, Pass::update, shard_group(plan_, plan_.replicated_tensor_sharding.optimizer_state)));
    return id;
  }

  // ---- weights used in two places

  // Before the update the gradients of borrowed weights join their owners': in one phase from IPU to IPU,
  // between phases through Streaming Memory. phase -1: all is one phase.
  void tied_gradients(Node& to, std::int64_t phase) {
    for (const Tie& tie : ties(plan_, t_.facts())) {
      const Bytes bytes = superstep::tied_gradients(t_, plan_, tie);
      const Cargo cargo{Data::tied_gradients, {unit_id(tie.borrower)}};
      if (tie.same_phase && tie.owner_ipu != tie.borrower_ipu && (phase < 0 || tie.owner_phase == phase)) {
        Node n = step("tied gradients", StepKind::copy, Term::gradient_collective, bytes, cargo);
        n.step.group = GroupShape{2, plan_.tensor_parallel.size()};
        to.children.push_back(std::move(n));
      }
      if (tie.same_phase) continue;
      if (tie.borrower_phase == phase)
        spill_tied(to, "store tied gradients", StepKind::store, tie.borrower_ipu, bytes, cargo);
      if (tie.owner_phase == phase) spill_tied(to, "load tied gradients", StepKind::load, tie.owner_ipu, bytes, cargo);
    }
  }
  void spill_tied(Node& to, std::string name, StepKind kind, std::int64_t ipu, Bytes bytes, const Cargo& cargo) {
    Node on = sequence("IPU " + std::to_string(ipu));
    on.ipu = ipu;
    streamed(on, std::move(name), kind, bytes, Location::streaming, cargo);
    to.children.push_back(std::move(on));
  }

  // The new values go back to the IPUs that borrow them, and to where those keep them.
  void tied_weights(Node& to) {
    for (const Tie& tie : ties(plan_, t_.facts())) {
      if (tie.owner_ipu == tie.borrower_ipu) continue;
      const Bytes bytes = sharded(t_.row(static_cast<std::size_t>(tie.borrower)).borrowed_bytes,
                                  plan_.replicated_tensor_sharding.weights);
      const Cargo cargo{Data::tied_weights, {unit_id(tie.borrower)}};
      Node n = step("tied weights", StepKind::copy, Term::gradient_collective, bytes, cargo);
      n.step.group = GroupShape{2, plan_.tensor_parallel.size()};
      to.children.push_back(std::move(n));
      Node on = sequence("IPU " + std::to_string(tie.borrower_ipu));
      on.ipu = tie.borrower_ipu;
      streamed(on, "store tied weights", StepKind::store, bytes, plan_.location.weights, cargo);
      if (!on.children.empty()) to.children.push_back(std::move(on));
    }
  }

  // ---- phases

  std::int64_t phase_count() const { return static_cast<std::int64_t>(plan_.phases.size()); }
  bool overlapped() const {
    return (plan_.load == LoadSchedule::preload && plan_.io_tiles > 0) || plan_.phase_groups == 2;
  }

  void phased() {
    const bool outer = plan_.phase_order == PhaseOrder::phase_outer;
    Node whole =
        outer ? sequence("phases") : repeat("micro-batches", plan_.gradient_accumulation, plan_.gradient_accumulation);
    const std::int64_t n = phase_count();
    for (std::int64_t j = 0; j < n; ++j) add_phase(whole, j, true, j + 1 < n ? j + 1 : -1);
    for (std::int64_t j = n; t_.training() && j-- > 0;) add_phase(whole, j, false, j > 0 ? j - 1 : -1);
    if (overlapped()) {  // nothing hides the first load
      Node first = load_phase(0);
      program_.root.children.push_back(std::move(first));
    }
    program_.root.children.push_back(std::move(whole));
    // From the last to the first, so that gradients of borrowed weights come before their owners' update.
    for (std::int64_t j = n; t_.training() && !outer && j-- > 0;) update_phase(program_.root, j);
    if (t_.training()) tied_weights(program_.root);
  }

  // One pass of one phase. The weights of the last phase are still there when its backward begins.
  void add_phase(Node& whole, std::int64_t j, bool forward, std::int64_t next) {
    const bool resident = !forward && j + 1 == phase_count();
    Node body = sequence("phase " + std::to_string(j) + (forward ? " forward" : " backward"));
    body.phase = j;
    if (!overlapped() && !resident) body.children.push_back(load_phase(j));
    Node work = phase_work(j, forward);
    if (overlapped() && next >= 0) {
      Node both = parallel("compute and preload");
      both.children.push_back(std::move(work));
      both.children.push_back(load_phase(next));
      body.children.push_back(std::move(both));
    } else {
      body.children.push_back(std::move(work));
    }
    if (!forward) {
      if (plan_.phase_order == PhaseOrder::phase_outer)
        update_phase(body, j);
      else
        body.children.push_back(spill_phase(j));
    }
    whole.children.push_back(std::move(body));
  }

  Node load_phase(std::int64_t j) {
    Node all = parallel("load phase " + std::to_string(j));
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) {
      const Bytes w = weights_of(i, j);
      if (w.value == 0) continue;
      Node branch = sequence("IPU " + std::to_string(i));
      branch.ipu = i;
      const std::int64_t shards = plan_.replicated_tensor_sharding.weights;
      const Cargo weights{Data::weights, units_on(i, j)};
      streamed(branch, "load weights", StepKind::load, sharded(w, shards), plan_.location.weights, weights);
      add_collective(branch, "gather weights", CollectiveKind::all_gather, Term::gradient_collective,
                     shard_group(plan_, shards), w, weights);
      streamed(branch, "load code", StepKind::load,
               plan_.location.code == Location::in_processor ? Bytes(0) : code_of(i, j).executable() * t_.tiles(),
               plan_.location.code, {Data::code, weights.units});
      all.children.push_back(std::move(branch));
    }
    return all;
  }

  Node phase_work(std::int64_t j, bool forward) {
    std::vector<StageSpan> mine;
    for (const StageSpan& s : spans_) {
      if (s.phase == j) mine.push_back(s);
    }
    const std::int64_t depth = static_cast<std::int64_t>(mine.size());
    const bool outer = plan_.phase_order == PhaseOrder::phase_outer;
    const std::int64_t g = outer ? plan_.gradient_accumulation : 1;
    Node loop = repeat(forward ? "forward micro-batches" : "backward micro-batches", g + depth - 1, g);
    Node cycle = parallel("pipeline cycle");
    for (const StageSpan& s : mine) {
      Node branch = sequence("IPU " + std::to_string(s.ipu));
      branch.ipu = s.ipu;
      Node work = sequence("compute"), move = sequence("activations");
      if (forward) {
        forward_calls(work, s, s.position, false);
      } else {
        backward_calls(work, s, s.from_end, false);
      }
      phase_activations(move, s, j, depth, forward);
      if (plan_.io_tiles > 0) {  // IO tiles stream while compute tiles work
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
      widest = std::max(widest, t_.boundary_bytes(static_cast<std::size_t>(mine[s].begin)));
      cargo.units.push_back(unit_id(mine[s].begin));
    }
    if (widest.value > 0) add_copy(loop, widest, std::move(cargo));
    loop.children.push_back(fixed("per micro-batch", t_.model().calibration().micro_batch_fixed));
    if (depth > 1) loop.children.push_back(fixed("per pipeline cycle", t_.model().calibration().pipeline_cycle_fixed));
    return loop;
  }

  Bytes stored_boundary(std::int64_t unit) const {
    const Boundary& b = t_.boundary(static_cast<std::size_t>(unit));
    return plan_.activation_sharding != ActivationSharding::none ? b.shard : b.bytes;
  }
  // Activations that a phase's stage moves through Streaming Memory per micro-batch: its input is
  // stashed for its backward; results that leave the phase, and their gradients, pass through memory.
  void phase_activations(Node& to, const StageSpan& s, std::int64_t j, std::int64_t depth, bool forward) {
    const bool first = s.position == 0, last = s.position + 1 == depth;
    const Bytes in = stored_boundary(s.begin), out = stored_boundary(s.end);
    const Location where =
        plan_.location.activations == Location::in_processor ? Location::streaming : plan_.location.activations;
    const Cargo into{Data::activations, {unit_id(s.begin)}}, out_of{Data::activations, {unit_id(s.end)}};
    const Cargo back{Data::activation_gradients, into.units}, from_next{Data::activation_gradients, out_of.units};
    if (forward) {
      if (first && j > 0) streamed(to, "load boundary", StepKind::load, in, where, into);
      if (!first && t_.training())
        streamed(to, "stash boundary", StepKind::store, in, where, {Data::stash, into.units});
      if (last && j + 1 < phase_count()) streamed(to, "store boundary", StepKind::store, out, where, out_of);
    } else {
      streamed(to, "load boundary", StepKind::load, in, where, {Data::stash, into.units});
      if (last && j + 1 < phase_count()) streamed(to, "load gradients", StepKind::load, out, where, from_next);
      if (first && j > 0) streamed(to, "store gradients", StepKind::store, in, where, back);
    }
    if (!(forward && !first)) join_boundary(to, "gather boundary", s.begin);
    if (!forward && last && j + 1 < phase_count()) join_boundary(to, "gather gradients", s.end);
  }
  void join_boundary(Node& to, const std::string& name, std::int64_t unit) {
    if (plan_.activation_sharding == ActivationSharding::none) return;
    const Boundary& b = t_.boundary(static_cast<std::size_t>(unit));
    const TensorParallel& t = plan_.tensor_parallel;
    add_collective(to, name, CollectiveKind::all_gather, Term::tensor_collective, {t.size(), 1}, b.gather_all);
    add_collective(to, name, CollectiveKind::all_gather, Term::tensor_collective, {t.t2, 1}, b.gather_rest);
  }

  void update_phase(Node& to, std::int64_t j) {
    tied_gradients(to, j);
    Node all = parallel("update phase " + std::to_string(j));
    all.phase = j;
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) {
      if (own_weights_of(i, j).value == 0) continue;
      Node branch = sequence("IPU " + std::to_string(i));
      branch.ipu = i;
      update_of(branch, i, j);
      all.children.push_back(std::move(branch));
    }
    to.children.push_back(std::move(all));
  }

  // micro_batch_outer: accumulators of a phase leave with it.
  Node spill_phase(std::int64_t j) {
    Node all = parallel("accumulators of phase " + std::to_string(j));
    for (std::int64_t i = 0; i < plan_.pipeline_stages; ++i) {
      const std::int64_t degree = plan_.replicated_tensor_sharding.gradients;
      const Bytes whole(parameters_of(i, j, true) * size_of(plan_.precision.accumulators)), b = sharded(whole, degree);
      if (b.value == 0) continue;
      const std::vector<UnitId> units = units_on(i, j);
      Node branch = sequence("IPU " + std::to_string(i));
      branch.ipu = i;
      add_collective(branch, "scatter gradients", CollectiveKind::reduce_scatter, Term::gradient_collective,
                     shard_group(plan_, degree), whole, {Data::gradients, units});
      streamed(branch, "fetch accumulators", StepKind::load, b, accumulators_at(plan_), {Data::accumulators, units});
      streamed(branch, "put back accumulators", StepKind::store, b, accumulators_at(plan_),
               {Data::accumulators, units});
      all.children.push_back(std::move(branch));
    }
    return all;
  }

  // ---- residents

  Residents code_of(std::int64_t ipu, std::int64_t phase) const {
    Residents r;
    std::set<std::int32_t> seen;
    VertexSet kinds;
    for_units(ipu, phase, [&](std::size_t u) {
      if (!seen.insert(t_.kind(u)).second) return;
      const UnitRow& row = t_.row(u);
      kinds |= row.forward.vertices | row.backward.vertices;
      r.exchange_code += row.forward.exchange_code + row.backward.exchange_code;
      if (t_.training() && row.parameters > 0) {
        const Footprint& update = t_.update(u, shard_group(plan_, plan_.replicated_tensor_sharding.optimizer_state));
        kinds |= update.vertices;
        r.exchange_code += update.exchange_code;
      }
    });
    r.vertex_code = vertex_code(kinds);
    r.control_code = t_.model().machine().chip.control_code;
    return r;
  }

  void hold(std::int64_t ipu) {
    std::vector<Residents> phases;
    if (!plan_.phased()) phases.push_back(resident_stages(ipu));
    for (std::int64_t j = 0; plan_.phased() && j < phase_count(); ++j) phases.push_back(resident_phase(ipu, j));
    for (Residents& r : phases) r.lent = share(lent(ipu), t_.tiles());
    program_.residents.push_back(std::move(phases));
    program_.ddr.push_back(ddr_of(ipu));
  }

  // While phase j is on the tiles: its weights and accumulators whole, and the code of all phases unless
  // code is loaded with its phase.
  Residents resident_phase(std::int64_t ipu, std::int64_t j) const {
    Residents r = code_of(ipu, plan_.location.code == Location::in_processor ? -1 : j);
    r.weights = weights_tile(ipu, j);
    if (t_.training()) {
      const std::int64_t accumulators = parameters_of(ipu, j, true) * size_of(plan_.precision.accumulators);
      r.gradients = Bytes(ceil_div(accumulators, t_.tiles()));
    }
    r.io = io_of(ipu, j);
    r.optimizer_state = resident_state(ipu);
    return r;
  }

  Residents resident_stages(std::int64_t ipu) const {
    Residents r = code_of(ipu, -1);
    const auto& rts = plan_.replicated_tensor_sharding;
    r.weights = weights_tile(ipu, -1);
    if (rts.weights > 1) {  // shards, and the largest unit joined while it is used
      Bytes largest(0);
      for_units(ipu, -1, [&](std::size_t u) { largest = std::max(largest, t_.row(u).weight_tile); });
      r.weights = share(r.weights, rts.weights) + largest;
    }
    if (t_.training()) {
      const std::int64_t accumulators = parameters_of(ipu, -1, true) * size_of(plan_.precision.accumulators);
      r.gradients = share(Bytes(ceil_div(accumulators, t_.tiles())), rts.gradients);
      if (rts.gradients > 1) r.gradients += largest_gradient(ipu);
      if (plan_.location.gradients != Location::in_processor) r.gradients = largest_gradient(ipu);
      for (const StageSpan& s : spans_) {
        if (s.ipu != ipu) continue;
        const std::int64_t depth = stash_depth(plan_.schedule, s.from_end);
        const bool elsewhere = plan_.location.activations != Location::in_processor;
        r.stash += stash_entry(s, true) * (elsewhere ? std::min<std::int64_t>(depth, 2) : depth);
      }
    }
    r.io = io_of(ipu, -1);
    r.optimizer_state = resident_state(ipu);
    return r;
  }

  Bytes io_of(std::int64_t ipu, std::int64_t phase) const {
    Bytes io(0);
    for_units(ipu, phase, [&](std::size_t u) { io += t_.row(u).feed_tile * plan_.prefetch_depth; });
    return io;
  }
  Bytes resident_state(std::int64_t ipu) const {
    if (!t_.training() || plan_.location.optimizer_state != Location::in_processor) return Bytes(0);
    const Bytes state(parameters_of(ipu, -1, false) * state_bytes_);
    return Bytes(ceil_div(sharded(state, plan_.replicated_tensor_sharding.optimizer_state).value, t_.tiles()));
  }

  // Its replica's neighbour keeps here what this IPU keeps with the next one: bytes of an IPU.
  Bytes lent(std::int64_t ipu) const {
    Bytes b(0);
    const auto& rts = plan_.replicated_tensor_sharding;
    const auto remote = [](Location l) { return l == Location::remote_ipu; };
    if (remote(plan_.location.weights)) b += sharded(weights_of(ipu, -1), rts.weights);
    if (t_.training()) {
      if (remote(accumulators_at(plan_)))
        b += sharded(Bytes(parameters_of(ipu, -1, true) * size_of(plan_.precision.accumulators)), rts.gradients);
      if (remote(plan_.location.optimizer_state))
        b += sharded(Bytes(parameters_of(ipu, -1, false) * state_bytes_), rts.optimizer_state);
    }
    const std::int64_t stored = plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1;
    for (const StageSpan& s : spans_) {
      if (s.ipu != ipu || !remote(plan_.location.activations)) continue;
      if (plan_.phased())
        b += stored_boundary(s.begin) * stored;
      else if (t_.training())
        b += stash_entry(s, false) * stash_depth(plan_.schedule, s.from_end);
    }
    return b;
  }

  Bytes largest_gradient(std::int64_t ipu) const {
    Bytes largest(0);
    for_units(ipu, -1, [&](std::size_t u) {
      largest =
          std::max(largest, Bytes(ceil_div(t_.row(u).parameters * size_of(plan_.precision.accumulators), t_.tiles())));
    });
    return largest;
  }

  StreamingUse ddr_of(std::int64_t ipu) const {
    StreamingUse use;
    const auto& rts = plan_.replicated_tensor_sharding;
    auto away = [](Location l) { return l == Location::streaming || l == Location::remote_machine; };
    if (away(plan_.location.weights)) use.weights = sharded(weights_of(ipu, -1), rts.weights);
    if (t_.training()) {
      const Bytes accumulators(parameters_of(ipu, -1, true) * size_of(plan_.precision.accumulators));
      if (away(plan_.location.gradients)) use.gradients = sharded(accumulators, rts.gradients);
      if (away(plan_.location.optimizer_state))
        use.optimizer_state = sharded(Bytes(parameters_of(ipu, -1, false) * state_bytes_), rts.optimizer_state);
      for (const Tie& tie : ties(plan_, t_.facts())) {  // wait there for their owner's phase
        if (!tie.same_phase && tie.borrower_ipu == ipu) use.gradients += superstep::tied_gradients(t_, plan_, tie);
      }
    }
    const std::int64_t stored = plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1;
    for (const StageSpan& s : spans_) {
      if (s.ipu != ipu) continue;
      for (std::int64_t u = s.begin; u < s.end; ++u)
        use.host += t_.row(static_cast<std::size_t>(u)).feed_bytes * plan_.prefetch_depth;
      if (plan_.phased() && plan_.location.activations != Location::remote_ipu)
        use.activations += stored_boundary(s.begin) * stored;
      else if (t_.training() && away(plan_.location.activations))
        use.activations += stash_entry(s, false) * stash_depth(plan_.schedule, s.from_end);
    }
    return use;
  }
};

}  // namespace

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

Bytes Program::executable(std::size_t ipu) const {
  Bytes most(0);
  for (const Residents& r : residents[ipu]) most = std::max(most, r.executable());
  return most;
}

std::int64_t lender_stride(const Plan& plan, Location location, std::int64_t per_machine) {
  const std::int64_t replica = plan.tensor_parallel.size() * plan.pipeline_stages;
  if (location == Location::remote_ipu) return replica;
  if (location == Location::remote_machine) return replica * std::max<std::int64_t>(1, ceil_div(per_machine, replica));
  return 1;
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

Tie place_tie(const Plan& plan, std::int64_t owner, std::int64_t borrower) {
  const auto place = [&](std::int64_t unit) {
    const auto stage = std::upper_bound(plan.stages.begin(), plan.stages.end(), unit) - plan.stages.begin() - 1;
    const auto phase = std::upper_bound(plan.phases.begin(), plan.phases.end(), stage) - plan.phases.begin() - 1;
    return std::pair<std::int64_t, std::int64_t>(plan.stage_ipu[static_cast<std::size_t>(stage)], phase);
  };
  const auto [owner_ipu, owner_phase] = place(owner);
  const auto [borrower_ipu, borrower_phase] = place(borrower);
  return {owner, borrower, owner_ipu, borrower_ipu, owner_phase == borrower_phase, owner_phase, borrower_phase};
}

std::vector<Tie> ties(const Plan& plan, const GraphFacts& facts) {
  std::vector<Tie> out;
  for (const auto& [owner, borrower] : facts.tied) {
    const Tie tie = place_tie(plan, owner, borrower);
    if (!tie.together()) out.push_back(tie);
  }
  return out;
}

Bytes tied_gradients(const UnitTable& table, const Plan& plan, const Tie& tie) {
  const std::int64_t n = table.row(static_cast<std::size_t>(tie.borrower)).borrowed_parameters;
  return sharded(Bytes(n * size_of(plan.precision.accumulators)), gradient_shards(plan));
}

std::int64_t stash_depth(Schedule schedule, std::int64_t from_end) {
  if (schedule == Schedule::sequential) return 1;
  return schedule == Schedule::interleaved ? from_end + 1 : 2 * from_end + 1;
}

GroupShape replica_group(const Plan& plan) {
  return {plan.replicas, plan.tensor_parallel.size() * plan.pipeline_stages};
}
GroupShape shard_group(const Plan& plan, std::int64_t degree) {
  return {degree, plan.tensor_parallel.size() * plan.pipeline_stages};
}

Program lower(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer) {
  return PlanLowering(table, plan, optimizer).run();
}

}  // namespace superstep
