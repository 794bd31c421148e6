// SPDX-License-Identifier: Apache-2.0
#include "model/execute/execute.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/error.h"
#include "model/execute/gradients.h"
#include "model/execute/run_unit.h"
#include "model/execute/settle.h"
#include "model/execute/unfinished.h"
#include "model/execute/updates.h"
#include "model/lower/lower.h"

namespace superstep {

namespace {

// Where in the loops of the tree a node is.
struct Place {
  std::int64_t group = -1;
  std::int64_t iteration = 0, micro_batches = 1;  // of the innermost repeat
  std::int64_t before = 0;                        // micro-batches of earlier iterations of outer repeats
  bool in_loop = false;                           // more micro-batches may follow
};

class Walk {
 public:
  Walk(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
       const KernelContext& context, Arithmetic arithmetic)
      : program_(program),
        facts_(table.facts()),
        graph_(facts_.graph),
        plan_(plan),
        batch_(graph_, feeds, plan.gradient_accumulation * plan.replicas, context),
        context_(context),
        wiring_(facts_),
        cluster_(plan),
        runner_(program, facts_, table.sharding(), wiring_, plan, batch_, context, arithmetic, cluster_, executed_),
        sharding_(table.sharding()),
        spans_(stage_spans(plan, static_cast<std::int64_t>(graph_.units.size()))),
        training_(table.training()),
        updates_(plan, facts_, sharding_, wiring_, spans_, context_, cluster_, executed_) {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[TensorId(i)];
      if (tensor.kind == TensorKind::weight_gradient) gradient_of_[tensor.weight] = TensorId(i);
    }
  }

  Executed run() {
    visit(program_.root, {});
    if (graph_.loss.valid()) finish_loss();
    if (training_) updates_.collect();
    return std::move(executed_);
  }

 private:
  const Program& program_;
  const GraphFacts& facts_;
  const Graph& graph_;
  const Plan& plan_;
  Batch batch_;
  KernelContext context_;
  Wiring wiring_;
  Cluster cluster_;
  Executed executed_;
  UnitRunner runner_;
  const GraphSharding& sharding_;
  std::vector<StageSpan> spans_;
  bool training_;
  Updates updates_;
  std::vector<Local> losses_;                 // of micro-batches
  std::map<TensorId, TensorId> gradient_of_;  // by weight
  // Gradients of borrowed weights between two phases, by borrower, gradient, replica and rank.
  std::map<std::tuple<UnitId, TensorId, std::int64_t, std::int64_t>, Accumulator> spilled_;

  // ---- the tree

  void visit(const Node& node, Place place) {
    if (node.ipu >= 0) place.group = node.ipu;
    switch (node.kind) {
      case Node::Kind::sequence:
      case Node::Kind::parallel:
        for (const Node& child : node.children) visit(child, place);
        return;
      case Node::Kind::repeat:
        return repeat(node, place);
      case Node::Kind::call:
        return call(node, place);
      case Node::Kind::step:
        return step(node, place);
    }
  }

  void repeat(const Node& node, const Place& place) {
    Place inner = place;
    inner.micro_batches = node.micro_batches;
    inner.in_loop = true;
    inner.before = (place.before + place.iteration) * node.micro_batches;
    for (inner.iteration = 0; inner.iteration < node.count; ++inner.iteration) {
      for (const Node& child : node.children) visit(child, inner);
    }
  }

  void call(const Node& node, const Place& place) {
    const std::int64_t of_repeat = place.iteration - node.lag;
    if (of_repeat < 0 || of_repeat >= place.micro_batches) return;
    const std::int64_t micro_batch = place.before + of_repeat;
    const Function& function = program_.functions[node.function];
    const StageSpan& span = span_of(node.unit);
    SUPERSTEP_CHECK(place.group == span.ipu, "a call of " + node.name + " on another IPU than the plan's");
    if (function.pass == Pass::update) updates_.finish_gradients(node.unit, place.group);
    runner_.run(node.unit, node.function, place.group, span.phase, micro_batch);
    if (function.pass == Pass::forward) after_forward(node, span, micro_batch);
    if (function.pass == Pass::backward) after_backward(node, place.group, micro_batch);
    if (function.pass == Pass::update) updates_.note(node.unit, place.group);
  }

  const StageSpan& span_of(UnitId unit) const { return superstep::span_of(spans_, unit); }
  void step(const Node& node, const Place& place) {
    const Step& s = node.step;
    switch (s.data) {
      case Data::activations:
      case Data::activation_gradients:
      case Data::boundaries:
        if (s.kind == StepKind::copy) copy_boundaries(s);
        if (s.kind == StepKind::store) store_boundaries(s, place.group);
        return;
      case Data::stash_shards:
      case Data::gradient_shards:
        return join_shards(s, place.group);
      case Data::weights:
        if (s.kind == StepKind::collective) gather_weights(s, place.group);
        return;
      case Data::gradients:
        if (s.kind == StepKind::collective) reduce_gradients(s, place);
        return;
      case Data::new_weights:
        if (s.kind == StepKind::collective) updates_.gather_weights(place.group, s);
        return;
      case Data::tied_gradients:
        for (UnitId borrower : s.units) move_tied_gradients(borrower, s.kind);
        return;
      case Data::tied_weights:
        if (s.kind != StepKind::copy) return;
        for (UnitId borrower : s.units) copy_tied_weights(borrower);
        return;
      default:
        return;
    }
  }

  // ---- replicas

  // Accumulators of what these units use, made in their phase.
  std::set<AccumulatorKey> accumulators_of(const std::vector<UnitId>& units) const {
    std::set<AccumulatorKey> keys;
    for (UnitId u : units) {
      for (const auto* weights : {&facts_.weights, &facts_.borrowed}) {
        for (TensorId w : (*weights)[static_cast<std::size_t>(u.index)]) {
          if (const auto at = gradient_of_.find(w); at != gradient_of_.end())
            keys.insert({at->second, span_of(u).phase});
        }
      }
    }
    return keys;
  }

  // What the fullest IPU of a group has of a gradient.
  std::int64_t elements_of(TensorId gradient) const {
    std::int64_t largest = 0;
    for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
      const Block region = shard_region(graph_.info(gradient).shape, sharding_.of(gradient), cluster_.mesh(), rank);
      largest = std::max(largest, volume(region));
    }
    return largest;
  }

  void reduce_gradients(const Step& s, const Place& place) {
    std::int64_t elements = 0, slices = 1;
    for (const AccumulatorKey& key : accumulators_of(s.units)) {
      const auto& accumulators = cluster_.at(0, place.group, 0).accumulators;
      const auto at = accumulators.find(key);
      const bool made = at != accumulators.end();
      const StageSpan& owner = span_of(owner_of(graph_.tensors[key.first].weight));
      const bool own = owner.ipu == place.group && owner.phase == key.second;
      if (made || own || place.in_loop) elements += elements_of(key.first);  // zeros while a pipeline fills
      if (!made) continue;
      if (s.collective == CollectiveKind::all_reduce) slices = at->second.slices;
      exchange_accumulator(cluster_, plan_, place.group, s.group, key, s.collective, place.in_loop);
    }
    executed_.count(s, share(Bytes(elements * size_of(plan_.precision.accumulators)), slices));
  }

  // What was gathered for others goes: there is room for one at a time.
  void gather_weights(const Step& s, std::int64_t group) {
    Bytes bytes(0);
    cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) { cluster_.at(r, group, rank).gathered.clear(); });
    std::set<TensorId> joined;  // units of a phase may share some
    for (UnitId u : s.units) {
      for (const auto* weights : {&facts_.weights, &facts_.borrowed}) {
        for (TensorId w : (*weights)[static_cast<std::size_t>(u.index)]) {
          if (joined.insert(w).second) bytes += gather_weight(w, s.group, group);
        }
      }
    }
    executed_.count(s, bytes);
  }

  Bytes gather_weight(TensorId w, GroupShape among, std::int64_t group) {
    cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) {
      const std::vector<std::int64_t> members = replicas_with(plan_, among, r);
      std::vector<LocalPtr> slices;
      for (std::int64_t member : members) slices.push_back(runner_.resident(w, member, group, rank));
      cluster_.at(r, group, rank).gathered[w] =
          std::make_shared<const Local>(join_weight_slices(slices, plan_, members));
    });
    return cluster_.at(0, group, 0).gathered.at(w)->values.info.bytes();
  }

  // ---- weights used in two places

  UnitId owner_of(TensorId weight) const {
    std::size_t u = 0;
    const auto owns = [&] {
      return std::find(facts_.weights[u].begin(), facts_.weights[u].end(), weight) != facts_.weights[u].end();
    };
    while (!owns()) ++u;
    return UnitId(u);
  }

  // Gradients of what `borrower` borrows: straight to the owner's accumulators, or out and in again.
  void move_tied_gradients(UnitId borrower, StepKind kind) {
    const StageSpan& from = span_of(borrower);
    for (TensorId weight : facts_.borrowed[static_cast<std::size_t>(borrower.index)]) {
      const StageSpan& to = span_of(owner_of(weight));
      if (!gradient_of_.count(weight)) continue;  // the loss does not depend on it
      const TensorId gradient = gradient_of_.at(weight);
      cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) {
        const std::tuple outside{borrower, gradient, r, rank};
        if (kind != StepKind::load) {
          auto& there = cluster_.at(r, from.ipu, rank).accumulators;
          const auto at = there.find({gradient, from.phase});
          if (at == there.end()) return;
          spilled_[outside] = std::move(at->second);
          there.erase(at);
        }
        if (kind == StepKind::store) return;
        const auto at = spilled_.find(outside);
        if (at == spilled_.end()) return;
        auto& here = cluster_.at(r, to.ipu, rank).accumulators;
        if (const auto own = here.find({gradient, to.phase}); own != here.end())
          join_accumulator(at->second, own->second);
        else  // the owner's own use has no gradient
          here.emplace(AccumulatorKey{gradient, to.phase}, std::move(at->second));
        spilled_.erase(at);
      });
    }
  }

  void copy_tied_weights(UnitId borrower) {
    for (TensorId weight : facts_.borrowed[static_cast<std::size_t>(borrower.index)]) {
      for (const auto& [old, made] : graph_.updates) {
        if (old != weight) continue;
        cluster_.for_all_ranks([&, made = made](std::int64_t r, std::int64_t rank) {
          const LocalPtr piece = held(cluster_.at(r, span_of(owner_of(weight)).ipu, rank).lasting, made);
          if (piece) cluster_.at(r, span_of(borrower).ipu, rank).lasting[made] = piece;
        });
      }
    }
  }

  // ---- stages

  void copy_boundaries(const Step& s) {
    for (UnitId begin : s.units) {
      const StageSpan &to = span_of(begin), &from = span_of(UnitId(begin.index - 1));
      const auto cut = static_cast<std::size_t>(begin.index);
      if (s.data != Data::activation_gradients) copy(from.ipu, to.ipu, wiring_.forward[cut]);
      if (s.data != Data::activations) copy(to.ipu, from.ipu, wiring_.backward[cut]);
    }
  }

  void copy(std::int64_t from, std::int64_t to, const std::set<TensorId>& tensors) {
    for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
      for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
        for (const auto& [micro_batch, there] : cluster_.at(r, from, rank).passing) {
          Held& here = cluster_.at(r, to, rank).passing[micro_batch];
          for (TensorId t : tensors) {
            if (LocalPtr piece = held(there, t)) here.try_emplace(t, piece);
          }
        }
      }
    }
  }

  void store_boundaries(const Step& s, std::int64_t group) {
    for (UnitId begin : s.units) {
      const auto cut = static_cast<std::size_t>(begin.index);
      const std::set<TensorId>& tensors = s.data == Data::activations ? wiring_.forward[cut] : wiring_.backward[cut];
      cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) { store(cluster_.at(r, group, rank), tensors); });
    }
  }
  static void store(Ipu& ipu, const std::set<TensorId>& tensors) {
    for (const auto& [micro_batch, there] : ipu.passing) {
      for (TensorId t : tensors) {
        if (LocalPtr piece = held(there, t)) ipu.streaming[micro_batch][t] = piece;
      }
    }
  }

  // Of what crosses into a unit each IPU has kept its part of what it and others hold alike: it gets theirs.
  void join_shards(const Step& s, std::int64_t group) {
    const auto unit = static_cast<std::size_t>(s.units.at(0).index);
    const auto joined_here = [&](TensorId t) {
      const Sharding& on = sharding_.of(t);
      return shards_of(on) > 1 && (on.on[0] >= 0) == (s.group.size < cluster_.ranks());
    };
    Bytes bytes(0);
    for (TensorId t : facts_.boundary[unit])
      if (joined_here(t)) bytes += Bytes(elements_of(t) * size_of(graph_.info(t).type));
    const bool stash = s.data == Data::stash_shards;
    for (TensorId t : stash ? wiring_.forward[unit] : wiring_.backward[unit]) {
      if (!joined_here(t)) continue;
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        for (std::int64_t g = 0; g < cluster_.groups(); ++g) {
          if (g == group) join_shards(t, r, g, &Ipu::passing);
          join_shards(t, r, g, &Ipu::streaming);  // which all groups share
        }
      }
    }
    executed_.count(s, bytes);
  }
  std::int64_t shards_of(const Sharding& on) const {
    const TensorParallel& mesh = cluster_.mesh();
    return (on.on[0] >= 0 ? 1 : mesh.t1) * (on.on[1] >= 0 ? 1 : mesh.t2);
  }
  void join_shards(TensorId t, std::int64_t replica, std::int64_t group, std::map<std::int64_t, Held> Ipu::*where) {
    for (auto& [micro_batch, first] : cluster_.at(replica, group, 0).*where) {
      std::vector<LocalPtr> pieces;
      for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
        auto& there = cluster_.at(replica, group, rank).*where;
        const auto at = there.find(micro_batch);
        pieces.push_back(at == there.end() ? nullptr : held(at->second, t));
      }
      const auto is_sum = [](const Local& p) {
        return p.sums || p.on.on[0] == Sharding::partial || p.on.on[1] == Sharding::partial;
      };
      // Exact mode keeps sums apart until they are complete.
      if (std::any_of(pieces.begin(), pieces.end(), [&](const LocalPtr& p) { return !p || is_sum(*p); })) continue;
      for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
        const LocalPtr& mine = pieces[static_cast<std::size_t>(rank)];
        std::vector<LocalPtr> alike;
        for (const LocalPtr& other : pieces)
          if (other->region == mine->region) alike.push_back(other);
        Local whole = poisoned(mine->values.info.type, mine->region, mine->on);
        const std::int64_t parts = std::ssize(alike);
        for (std::int64_t k = 0; k < parts; ++k) copy_slice(*alike[static_cast<std::size_t>(k)], whole, k, parts);
        (cluster_.at(replica, group, rank).*where)[micro_batch][t] = std::make_shared<const Local>(std::move(whole));
      }
    }
  }

  // ---- what stays

  void after_forward(const Node& node, const StageSpan& span, std::int64_t micro_batch) {
    if (!node.recompute) collect_results(node.unit, micro_batch);
    if (!training_) return;
    const bool keeps = node.keeps || span.recompute == Recompute::none;
    drop_results(node.unit, span.ipu, micro_batch, Pass::forward, [&](TensorId t) {
      const auto i = static_cast<std::size_t>(t.index);
      return wiring_.leaves[i] || (keeps && wiring_.kept[i]);
    });
    if (keeps) return;
    const std::int64_t end = node.unit.index + 1;
    const bool joins = end < span.end && (span.recompute == Recompute::stage || same_checkpoint(node.unit.index, end));
    if (joins) return;
    const std::set<TensorId>& crossing = wiring_.forward[static_cast<std::size_t>(end)];
    for (std::int64_t u = block_begin(end, span); u < end; ++u) {
      drop_results(UnitId(static_cast<std::int32_t>(u)), span.ipu, micro_batch, Pass::forward,
                   [&](TensorId t) { return crossing.count(t) > 0; });
    }
  }

  bool same_checkpoint(std::int64_t a, std::int64_t b) const {
    const std::int64_t checkpoint = checkpoint_of(graph_.units[UnitId(static_cast<std::int32_t>(a))]);
    return checkpoint >= 0 && checkpoint == checkpoint_of(graph_.units[UnitId(static_cast<std::int32_t>(b))]);
  }
  std::int64_t block_begin(std::int64_t end, const StageSpan& span) const {
    std::int64_t begin = end - 1;
    while (begin > span.begin && (span.recompute == Recompute::stage || same_checkpoint(begin - 1, begin))) --begin;
    return begin;
  }

  void after_backward(const Node& node, std::int64_t group, std::int64_t micro_batch) {
    const auto& crossing = wiring_.backward[static_cast<std::size_t>(node.unit.index)];
    drop_results(node.unit, group, micro_batch, Pass::forward, [](TensorId) { return false; });
    drop_results(node.unit, group, micro_batch, Pass::backward, [&](TensorId t) { return crossing.count(t) > 0; });
  }

  template <class Stays>
  void drop_results(UnitId unit, std::int64_t group, std::int64_t micro_batch, Pass pass, Stays stays) {
    for (OpId op : graph_.units[unit].ops[static_cast<std::size_t>(pass)]) {
      for (TensorId t : graph_.ops[op].outputs) {
        if (stays(t)) continue;
        for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
          for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank)
            cluster_.at(r, group, rank).passing[micro_batch].erase(t);
        }
      }
    }
  }

  // ---- results of the forward pass

  void collect_results(UnitId unit, std::int64_t micro_batch) {
    for (TensorId t : graph_.outputs) {
      const OpId producer = graph_.tensors[t].producer;
      if (!producer.valid() || graph_.ops[producer].unit != unit || (graph_.loss.valid() && t != graph_.loss)) continue;
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        std::vector<LocalPtr> ranks;
        for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) ranks.push_back(runner_.fetch(t, r, rank));
        if (t == graph_.loss)
          losses_.push_back(ranks[0] ? *ranks[0] : poisoned(graph_.info(t).type, {}));
        else
          append(t, assemble(graph_.info(t), ranks), r * plan_.gradient_accumulation + micro_batch);
      }
    }
  }

  void append(TensorId t, const Array& value, std::int64_t number) {
    const std::int64_t parts = plan_.gradient_accumulation * plan_.replicas;
    TensorInfo info = value.info;
    if (info.shape.empty()) info.shape.push_back(1);
    info.shape[0] *= parts;
    Array& all = executed_.values.try_emplace(t, Array(info)).first->second;
    std::copy(value.data.begin(), value.data.end(),
              all.data.begin() + number * static_cast<std::ptrdiff_t>(value.data.size()));
  }

  void finish_loss() {
    Array loss(graph_.info(graph_.loss));
    std::vector<UnfinishedPtr> sums;
    double sum = 0;
    for (const Local& of_micro_batch : losses_) {
      if (of_micro_batch.sums)
        sums.push_back(of_micro_batch.sums);
      else
        sum += of_micro_batch.values.at(0);
    }
    loss.set(0, sum);
    if (sums.size() == losses_.size()) loss = finished(graph_, *superstep::joined(sums), context_);
    executed_.values[graph_.loss] = std::move(loss);
  }
};

}  // namespace

Executed execute(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
                 const KernelContext& context, Arithmetic arithmetic) {
  return Walk(program, table, plan, feeds, context, arithmetic).run();
}

}  // namespace superstep
