// SPDX-License-Identifier: Apache-2.0
#include "setup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "model/lower/shard.h"
#include "model/machine/load_machine.h"

namespace superstep {

namespace {

constexpr std::int64_t kSmall = 64;  // elements of a weight worth splitting: not a bias

Array random_values(const Graph& graph, TensorId t, std::mt19937& random) {
  Array array(graph.info(t));
  const std::string& name = graph.tensors[t].name;
  std::uniform_real_distribution<double> real(-0.5, 0.5);
  std::uniform_int_distribution<std::int64_t> number(0, 23);
  for (std::int64_t i = 0; i < array.info.elements(); ++i) {
    if (!is_float(array.info.type))
      array.set(i, static_cast<double>(number(random)));
    else if (graph.tensors[t].kind == TensorKind::optimizer_state)
      array.set(i, std::abs(real(random)) * 0.01);
    else
      array.set(i, real(random) + (name.find("gamma") == std::string::npos ? 0 : 1));
  }
  if (name.find("step") != std::string::npos && array.info.shape.empty()) array.set(0, 3);
  return array;
}

Values random_feeds(const Graph& graph) {
  std::mt19937 random(7);
  Values feeds;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.producer.valid() || tensor.kind == TensorKind::constant) continue;
    feeds[TensorId(i)] = random_values(graph, TensorId(i), random);
  }
  return feeds;
}

// Results by what they are: ops of the two graphs differ where a dimension of 1 needs no broadcast.
std::map<std::string, TensorId> results_by_name(const Graph& graph) {
  std::map<std::string, TensorId> results;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!graph.loss.valid()) results["output " + std::to_string(i)] = graph.outputs[i];
  }
  if (graph.loss.valid()) results["loss"] = graph.loss;
  for (const auto& [old, made] : graph.updates) results["new " + graph.tensors[old].name] = made;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::weight_gradient)
      results["gradient of " + graph.tensors[tensor.weight].name] = TensorId(i);
  }
  return results;
}

std::map<TensorId, TensorId> matched(const Graph& from, const Graph& to) {
  const std::map<std::string, TensorId> there = results_by_name(to);
  std::map<TensorId, TensorId> same;
  for (const auto& [name, t] : results_by_name(from)) same[t] = there.at(name);
  return same;
}

// What the steps of the program say, of all IPU groups; `iteration` and `micro_batches` of the innermost repeat.
struct Turn {
  std::int64_t iteration = 0, micro_batches = 1;
};
void add_collectives(const Program& program, const Node& node, Turn turn,
                     std::map<std::pair<CollectiveKind, Term>, Executed::Traffic>& all) {
  const auto add = [&](const Step& s) {
    if (s.kind != StepKind::collective) return;
    Executed::Traffic& traffic = all[{s.collective, s.term}];
    traffic.count += s.times;
    traffic.bytes += s.tile_bytes * s.times;
  };
  if (node.kind == Node::Kind::step) add(node.step);
  const std::int64_t micro_batch = turn.iteration - node.lag;
  if (node.kind == Node::Kind::call && micro_batch >= 0 && micro_batch < turn.micro_batches) {
    for (const Step& s : program.functions[node.function].steps) add(s);
  }
  const bool repeats = node.kind == Node::Kind::repeat;
  for (std::int64_t i = 0; i < (repeats ? node.count : 1); ++i) {
    for (const Node& child : node.children)
      add_collectives(program, child, repeats ? Turn{i, node.micro_batches} : turn, all);
  }
}

Values by_name(const Graph& graph, const Graph& other, const Values& values) {
  std::map<std::string, TensorId> ids;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) ids[graph.tensors[TensorId(i)].name] = TensorId(i);
  Values renamed;
  for (const auto& [t, array] : values) renamed[ids.at(other.tensors[t].name)] = array;
  return renamed;
}

}  // namespace

void cut_evenly(Plan& plan, std::int64_t units, std::int64_t stages) {
  plan.stages.clear();
  plan.stage_ipu.clear();
  for (std::int64_t s = 0; s < stages; ++s) {
    plan.stages.push_back(s * units / stages);
    plan.stage_ipu.push_back(s % plan.pipeline_stages);
  }
}

Plan plain_plan(std::int64_t units, TensorParallel t, std::int64_t p, std::int64_t r, std::int64_t m, std::int64_t g) {
  Plan plan;
  plan.tensor_parallel = t;
  plan.pipeline_stages = p;
  plan.replicas = r;
  plan.micro_batch = m;
  plan.gradient_accumulation = g;
  plan.recompute = {Recompute::none};
  plan.precision.weights = plan.precision.activations = plan.precision.partials = plan.precision.accumulators =
      DType::fp32;
  cut_evenly(plan, units, p);
  return plan;
}

struct Lowered::Tables {
  Machine machine;
  CostModel model{machine, Calibration{}};
  GraphFacts facts;
  GraphSharding sharding;
  SharedCosts shared;
  UnitTable table;

  static bool splits(const Plan& plan) { return plan.activation_sharding == ActivationSharding::throughout; }
  static ShardRules rules(const Plan& plan) { return {kSmall, splits(plan), Bytes(1 << 20)}; }

  static Machine machine_for(const Plan& plan) {
    return load_machine(nlohmann::json{{"base", "toy"}, {"partition", round_up(plan.ipus(), 4)}}, "test");
  }

  Tables(const Graph& graph, const Plan& plan)
      : machine(machine_for(plan)),
        facts(graph),
        sharding(shard(graph, plan.tensor_parallel, collective_time(model, plan.tensor_parallel),
                       work_time(graph, machine.chip), rules(plan))),
        shared(model, machine.chip.tiles - plan.io_tiles),
        table(facts, sharding, model, shared,
              TableKey{plan.tensor_parallel,
                       plan.micro_batch,
                       plan.precision,
                       plan.io_tiles,
                       plan.available_memory_proportion,
                       {},
                       plan.gradient_accumulation > 1,
                       splits(plan),
                       plan.serialisation,
                       plan.strides().rank,
                       plan.strides().replica},
              !graph.updates.empty()) {}
};

Lowered::Lowered(const MakeGraph& make, const Plan& p, const OptimizerSpec& optimizer)
    : graph(make(p.micro_batch)), global(make(p.global_batch())), plan(p), tables_(new Tables(graph, plan)) {
  program = lower(tables_->table, plan, optimizer);
  global_feeds_ = random_feeds(global);
  feeds_ = by_name(graph, global, global_feeds_);
  same_ = matched(graph, global);
}
Lowered::~Lowered() = default;

const UnitTable& Lowered::table() const { return tables_->table; }
Executed Lowered::run(const Program& changed, Arithmetic arithmetic) const {
  return execute(changed, tables_->table, plan, feeds_, context, arithmetic);
}
Values Lowered::reference() const { return evaluate(global, global_feeds_, context); }

std::string Lowered::difference(const Executed& executed, double tolerance, bool updates) const {
  const Values expected = reference();
  std::set<TensorId> made;
  for (const auto& [old, updated] : graph.updates) made.insert(updated);
  for (const auto& [t, value] : executed.values) {
    const Array& whole = expected.at(same_.at(t));
    const std::string& name = graph.tensors[t].name;
    if (!updates && made.count(t)) continue;
    if (whole.info != value.info) return name + " has another shape";
    double largest = 1e-3, worst = 0;
    for (double x : whole.values()) largest = std::max(largest, std::abs(x));
    for (std::int64_t i = 0; i < whole.info.elements(); ++i) {
      const double off = std::abs(whole.at(i) - value.at(i));
      worst = off >= worst ? off : std::isnan(off) ? INFINITY : worst;
    }
    if (worst > tolerance * largest)
      return name + " is off by " + std::to_string(worst) + " of " + std::to_string(largest);
  }
  return executed.values.size() == same_.size()
             ? ""
             : std::to_string(executed.values.size()) + " results, not " + std::to_string(same_.size());
}

std::string Lowered::unequal_bits(const Executed& executed) const {
  const Values expected = reference();
  for (const auto& [t, value] : executed.values) {
    const Array& whole = expected.at(same_.at(t));
    if (whole == value) continue;
    std::int64_t i = 0;
    const std::int64_t size = size_of(value.info.type);
    while (i < value.info.elements() &&
           std::memcmp(whole.data.data() + i * size, value.data.data() + i * size, static_cast<std::size_t>(size)) == 0)
      ++i;
    return graph.tensors[t].name + " at " + std::to_string(i) + ": " + std::to_string(value.at(i)) + ", expected " +
           std::to_string(whole.at(i));
  }
  return executed.values.size() == same_.size() ? "" : "not all results";
}

std::string Lowered::other_collectives(const Executed& executed) const {
  std::map<std::pair<CollectiveKind, Term>, Executed::Traffic> costed_all;
  add_collectives(program, program.root, {}, costed_all);
  const auto told = [](const auto& all) {
    std::string text;
    for (const auto& [key, traffic] : all)
      text += std::string(name_of(key.first)) + " for " + std::string(name_of(key.second)) + ": " +
              std::to_string(traffic.count) + ", " + std::to_string(traffic.bytes.value) + " bytes; ";
    return text;
  };
  const std::string held = told(executed.collectives), costed = told(costed_all);
  return held == costed ? "" : "executed " + held + "costed " + costed;
}

std::string Lowered::other_live_bytes(const Executed& executed) const {
  for (const auto& [at, live] : executed.live) {
    if (live.held == live.costed) continue;
    const Function& f = program.functions[at.first];
    const Op& op = graph.ops[graph.units[f.unit].ops[static_cast<std::size_t>(f.pass)][at.second]];
    return f.name + ", " + op.name + " (" + std::string(op.def->name) + "): " + std::to_string(live.held.value) +
           " bytes on a tile, costed " + std::to_string(live.costed.value);
  }
  return executed.live.empty() ? "no op" : "";
}

bool Lowered::poisoned(const Executed& executed) const {
  for (const auto& [t, value] : executed.values) {
    for (double x : value.values()) {
      if (std::isnan(x)) return true;
    }
  }
  return false;
}

}  // namespace superstep
