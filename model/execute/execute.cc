// SPDX-License-Identifier: Apache-2.0
#include "model/execute/execute.h"

#include <algorithm>
#include <set>

#include "model/error.h"
#include "model/execute/gradients.h"
#include "model/execute/run_unit.h"
#include "model/lower/lower.h"

namespace superstep {

namespace {

// Where in the loops of the tree a node is.
struct Place {
  std::int64_t group = -1;
  std::int64_t iteration = 0, micro_batches = 1;  // of the innermost repeat
  std::int64_t before = 0;                        // micro-batches of earlier iterations of outer repeats
};

class Walk {
 public:
  Walk(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
       const KernelContext& context)
      : program_(program),
        facts_(table.facts()),
        graph_(facts_.graph),
        plan_(plan),
        wiring_(facts_),
        cluster_(plan),
        runner_(program, facts_, table.sharding(), wiring_, plan, feeds, context, cluster_, executed_),
        sharding_(table.sharding()),
        spans_(stage_spans(plan, static_cast<std::int64_t>(graph_.units.size()))),
        training_(table.training()) {}

  Executed run() {
    visit(program_.root, {});
    if (graph_.loss.valid()) finish_loss();
    if (training_) collect_updates();
    return std::move(executed_);
  }

 private:
  const Program& program_;
  const GraphFacts& facts_;
  const Graph& graph_;
  const Plan& plan_;
  Wiring wiring_;
  Cluster cluster_;
  Executed executed_;
  UnitRunner runner_;
  const GraphSharding& sharding_;
  std::vector<StageSpan> spans_;
  bool training_;
  double loss_ = 0;
  std::set<std::pair<std::int64_t, TensorId>> updated_;  // by IPU group and old value

  // ---- the tree

  void visit(const Node& node, Place place) {
    if (node.ipu >= 0) place.group = node.ipu;
    switch (node.kind) {
      case Node::Kind::sequence:
        for (const Node& child : node.children) visit(child, place);
        return;
      case Node::Kind::repeat:
        return repeat(node, place);
      case Node::Kind::parallel:
        return parallel(node, place);
      case Node::Kind::call:
        return call(node, place);
      case Node::Kind::step:
        return step(node, place);
    }
  }

  void repeat(const Node& node, const Place& place) {
    Place inner = place;
    inner.micro_batches = node.micro_batches;
    inner.before = (place.before + place.iteration) * node.micro_batches;
    for (inner.iteration = 0; inner.iteration < node.count; ++inner.iteration) {
      for (const Node& child : node.children) visit(child, inner);
    }
  }

  // Branches meet in their leading steps: the sum of a tied weight's gradients waits for both its ends.
  void parallel(const Node& node, const Place& place) {
    for (bool leading : {true, false}) {
      for (const Node& branch : node.children) {
        Place inner = place;
        if (branch.ipu >= 0) inner.group = branch.ipu;
        if (branch.kind != Node::Kind::sequence) {
          if (!leading) visit(branch, inner);
          continue;
        }
        const auto is_step = [](const Node& n) { return n.kind == Node::Kind::step; };
        auto first = std::find_if_not(branch.children.begin(), branch.children.end(), is_step);
        if (first == branch.children.end()) first = branch.children.begin();  // it moves what the others make
        for (auto at = leading ? branch.children.begin() : first; at != (leading ? first : branch.children.end());
             ++at) {
          visit(*at, inner);
        }
      }
    }
    if (plan_.schedule == Schedule::sequential && !plan_.phased()) copy_boundaries();
  }

  void call(const Node& node, const Place& place) {
    const std::int64_t of_repeat = place.iteration - node.lag;
    if (of_repeat < 0 || of_repeat >= place.micro_batches) return;
    const std::int64_t micro_batch = place.before + of_repeat;
    const Function& function = program_.functions[node.function];
    const StageSpan& span = span_of(node.unit);
    SUPERSTEP_CHECK(place.group == span.ipu, "a call of " + node.name + " on another IPU than the plan's");
    if (function.pass == Pass::update) average_gradients(node.unit, place.group);
    runner_.run(node.unit, function, place.group, span.phase, micro_batch);
    if (function.pass == Pass::forward) after_forward(node, span, micro_batch);
    if (function.pass == Pass::backward) after_backward(node, place.group, micro_batch);
    if (function.pass == Pass::update) after_update(node.unit, place.group);
  }

  const StageSpan& span_of(UnitId unit) const {
    const auto holds = [&](const StageSpan& s) { return s.begin <= unit.index && unit.index < s.end; };
    return *std::find_if(spans_.begin(), spans_.end(), holds);
  }

  void step(const Node& node, const Place& place) {
    const Step& s = node.step;
    if (s.kind == StepKind::copy && s.term == Term::copy) copy_boundaries();
    if (s.kind == StepKind::store && node.name == "store boundary") store_boundaries(place.group, true);
    if (s.kind == StepKind::store && node.name == "store gradients") store_boundaries(place.group, false);
    if (s.kind == StepKind::collective && s.term == Term::gradient_collective) replica_collective(node, place.group);
  }

  // ---- replicas

  void replica_collective(const Node& node, std::int64_t group) {
    const GroupShape among = node.step.group;
    if (node.name == "gather new weights") return gather_updated(group, among);
    if (node.name == "scatter gradients") return scatter_accumulators(cluster_, plan_, group, among, Outside::zero);
    if (node.name == "reduce-scatter gradients")
      return scatter_accumulators(cluster_, plan_, group, among, Outside::poison);
    const bool sums = node.name == "all-reduce gradients" || node.name == "reduce gradients across groups" ||
                      node.name == "gather gradients";
    if (sums) reduce_accumulators(cluster_, plan_, group, among);  // slices are zero elsewhere: gathered by adding
  }

  // The gradients an update reads: sums over micro-batches, replicas and the IPUs that use a tied weight,
  // as means over the global batch.
  void average_gradients(UnitId unit, std::int64_t group) {
    std::set<TensorId> gradients;
    for (OpId op : graph_.units[unit].ops[static_cast<std::size_t>(Pass::update)]) {
      for (TensorId t : graph_.ops[op].inputs) {
        if (t.valid() && graph_.tensors[t].kind == TensorKind::weight_gradient) gradients.insert(t);
      }
    }
    for (TensorId t : gradients) {
      reduce_late(t, span_of(unit).phase);
      std::vector<std::vector<LocalPtr>> of_replicas;
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        of_replicas.emplace_back();
        for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
          of_replicas.back().push_back(mean(t, r, rank));
          cluster_.at(r, group, rank).lasting[t] = of_replicas.back().back();
        }
      }
      executed_.values[t] = joined(t, group, plan_.replicated_tensor_sharding.optimizer_state);
      erase_accumulators(t);
    }
  }

  // A tied weight's gradient of another phase whose own update comes later.
  void reduce_late(TensorId gradient, std::int64_t phase) {
    for (std::int64_t group = 0; group < cluster_.groups(); ++group) {
      std::vector<AccumulatorKey> late;
      for (const auto& [key, a] : cluster_.at(0, group, 0).accumulators) {
        if (key.first == gradient && key.second != phase && !a.reduced) late.push_back(key);
      }
      for (const AccumulatorKey& key : late) reduce_accumulator(cluster_, plan_, group, replica_group(plan_), key);
    }
  }

  LocalPtr mean(TensorId gradient, std::int64_t replica, std::int64_t rank) {
    const Block region = shard_region(graph_.info(gradient).shape, sharding_.of(gradient), cluster_.mesh(), rank);
    Local sum = poisoned(graph_.info(gradient).type, region, sharding_.of(gradient));
    bool any = false;
    const auto samples = static_cast<double>(plan_.gradient_accumulation * plan_.replicas);
    for (std::int64_t group = 0; group < cluster_.groups(); ++group) {
      for (const auto& [key, a] : cluster_.at(replica, group, rank).accumulators) {
        if (key.first != gradient) continue;
        for (std::int64_t i = 0; i < sum.values.info.elements(); ++i) {
          sum.values.set(i, (any ? sum.values.at(i) : 0) + a.sum.values.at(i) / samples);
        }
        any = true;
      }
    }
    return std::make_shared<const Local>(std::move(sum));
  }

  void erase_accumulators(TensorId gradient) {
    for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
      for (std::int64_t group = 0; group < cluster_.groups(); ++group) {
        for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
          std::erase_if(cluster_.at(r, group, rank).accumulators,
                        [&](const auto& a) { return a.first.first == gradient; });
        }
      }
    }
  }

  // A tensor of the update put together from slices over `holders` replicas and pieces over ranks.
  Array joined(TensorId t, std::int64_t group, std::int64_t holders) {
    const std::int64_t shards = plan_.replicated_tensor_sharding.optimizer_state;
    std::vector<LocalPtr> ranks;
    for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
      std::vector<LocalPtr> slices;
      for (std::int64_t r = 0; r < holders; ++r) slices.push_back(held(cluster_.at(r, group, rank).lasting, t));
      if (std::find(slices.begin(), slices.end(), nullptr) != slices.end())
        ranks.push_back(nullptr);
      else
        ranks.push_back(std::make_shared<const Local>(join_slices(slices, shards)));
    }
    return assemble(graph_.info(t), ranks);
  }
  static LocalPtr held(const Held& all, TensorId t) {
    const auto at = all.find(t);
    return at == all.end() ? nullptr : at->second;
  }

  // New weights go to all replicas that took part in making them.
  void gather_updated(std::int64_t group, GroupShape among) {
    const std::int64_t shards = plan_.replicated_tensor_sharding.optimizer_state;
    for (const auto& [old, made] : graph_.updates) {
      if (graph_.tensors[old].kind != TensorKind::weight || updated_.erase({group, old}) == 0) continue;
      for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
        std::vector<LocalPtr> whole;
        for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
          Local all = *cluster_.at(r, group, rank).lasting.at(made);
          for (std::int64_t other : replicas_with(plan_, among, r)) {
            copy_slice(*cluster_.at(other, group, rank).lasting.at(made), all, other % shards, shards);
          }
          whole.push_back(std::make_shared<const Local>(std::move(all)));
        }
        for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
          cluster_.at(r, group, rank).lasting[made] = whole[static_cast<std::size_t>(r)];
        }
      }
    }
  }

  void after_update(UnitId unit, std::int64_t group) {
    for (const auto& [old, made] : graph_.updates) {
      if (graph_.ops[graph_.tensors[made].producer].unit == unit) updated_.insert({group, old});
    }
  }

  void collect_updates() {
    const ReplicatedTensorSharding& rts = plan_.replicated_tensor_sharding;
    for (const auto& [old, made] : graph_.updates) {
      const UnitId unit = graph_.ops[graph_.tensors[made].producer].unit;
      const bool weight = graph_.tensors[old].kind == TensorKind::weight;
      executed_.values[made] = joined(made, span_of(unit).ipu, weight ? rts.weights : rts.optimizer_state);
    }
  }

  // ---- stages

  // Every IPU sends what crosses its stage's borders to its neighbour.
  void copy_boundaries() {
    for (std::size_t s = 1; s < spans_.size(); ++s) {
      const StageSpan &from = spans_[s - 1], &to = spans_[s];
      if (from.ipu == to.ipu || from.phase != to.phase) continue;
      const auto cut = static_cast<std::size_t>(to.begin);
      copy(from.ipu, to.ipu, wiring_.forward[cut]);
      copy(to.ipu, from.ipu, wiring_.backward[cut]);
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

  void store_boundaries(std::int64_t group, bool forward) {
    for (std::size_t s = 1; s < spans_.size(); ++s) {
      if (spans_[s].phase == spans_[s - 1].phase || spans_[forward ? s - 1 : s].ipu != group) continue;
      const auto cut = static_cast<std::size_t>(spans_[s].begin);
      const std::set<TensorId>& tensors = forward ? wiring_.forward[cut] : wiring_.backward[cut];
      for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
        for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) store(cluster_.at(r, group, rank), tensors);
      }
    }
  }
  static void store(Ipu& ipu, const std::set<TensorId>& tensors) {
    for (const auto& [micro_batch, there] : ipu.passing) {
      for (TensorId t : tensors) {
        if (LocalPtr piece = held(there, t)) ipu.streaming[micro_batch][t] = piece;
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
    const bool joins = end < span.end && (span.recompute == Recompute::stage || same_layer(node.unit.index, end));
    if (joins) return;
    const std::set<TensorId>& crossing = wiring_.forward[static_cast<std::size_t>(end)];
    for (std::int64_t u = block_begin(end, span); u < end; ++u) {
      drop_results(UnitId(static_cast<std::int32_t>(u)), span.ipu, micro_batch, Pass::forward,
                   [&](TensorId t) { return crossing.count(t) > 0; });
    }
  }

  bool same_layer(std::int64_t a, std::int64_t b) const {
    const std::int64_t layer = graph_.units[UnitId(static_cast<std::int32_t>(a))].layer;
    return layer >= 0 && layer == graph_.units[UnitId(static_cast<std::int32_t>(b))].layer;
  }
  std::int64_t block_begin(std::int64_t end, const StageSpan& span) const {
    std::int64_t begin = end - 1;
    while (begin > span.begin && (span.recompute == Recompute::stage || same_layer(begin - 1, begin))) --begin;
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
        const Array value = assemble(graph_.info(t), ranks);
        if (t == graph_.loss)
          loss_ += value.at(0);
        else
          append(t, value, r * plan_.gradient_accumulation + micro_batch);
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
    Array mean(graph_.info(graph_.loss));
    mean.set(0, loss_ / static_cast<double>(plan_.gradient_accumulation * plan_.replicas));
    executed_.values[graph_.loss] = std::move(mean);
  }
};

}  // namespace

Executed execute(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
                 const KernelContext& context) {
  return Walk(program, table, plan, feeds, context).run();
}

}  // namespace superstep
