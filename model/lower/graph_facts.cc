// SPDX-License-Identifier: Apache-2.0
#include "model/lower/graph_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "model/graph/op_def.h"

namespace superstep {

namespace {

void make_sets(std::vector<std::vector<TensorId>>& lists) {
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

TensorId root_of(const Graph& graph, TensorId t) {
  while (graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].def->view)
    t = graph.ops[graph.tensors[t].producer].inputs[0];
  return t;
}

}  // namespace

GraphFacts::GraphFacts(const Graph& g) : graph(g), sharding(g), signatures(sharding.signatures) {
  const std::size_t units = g.units.size();
  weights.resize(units);
  borrowed.resize(units);
  boundary.resize(units + 1);
  feeds.resize(units);
  results.resize(units);
  contributes.assign(g.tensors.size(), false);
  read_in_backward.assign(g.tensors.size(), false);
  leaves_unit.assign(g.tensors.size(), false);
  for (TensorId t : g.outputs) leaves_unit[static_cast<std::size_t>(t.index)] = !g.loss.valid() || t == g.loss;
  for (TensorId t : g.outputs) {
    const OpId producer = g.tensors[t].producer;
    if (!g.loss.valid() && producer.valid()) results[static_cast<std::size_t>(g.ops[producer].unit.index)].push_back(t);
  }
  std::vector<std::int32_t> first_user(g.tensors.size(), -1), last_reader(g.tensors.size(), -1);
  std::set<std::pair<std::int32_t, TensorId>> borrowed_seen;
  for (const Op& op : g.ops) {
    for (TensorId t : op.inputs) {
      if (!t.valid()) continue;
      const auto i = static_cast<std::size_t>(t.index);
      const Tensor& tensor = g.tensors[t];
      if (tensor.producer.valid() && g.ops[tensor.producer].pass == op.pass && g.ops[tensor.producer].unit != op.unit)
        leaves_unit[i] = true;
      if (op.pass == Pass::backward && tensor.producer.valid() && g.ops[tensor.producer].pass == Pass::forward &&
          g.ops[tensor.producer].unit == op.unit) {
        read_in_backward[i] = true;
      }
      if (op.pass != Pass::forward) continue;
      const std::int32_t u = op.unit.index;
      if (tensor.kind == TensorKind::weight || tensor.kind == TensorKind::input) {
        if (first_user[i] < 0) {
          first_user[i] = u;
          (tensor.kind == TensorKind::weight ? weights : feeds)[static_cast<std::size_t>(u)].push_back(t);
        } else if (first_user[i] != u && tensor.kind == TensorKind::weight && borrowed_seen.insert({u, t}).second) {
          borrowed[static_cast<std::size_t>(u)].push_back(t);
        }
      }
      if (tensor.producer.valid()) last_reader[i] = std::max(last_reader[i], u);
    }
  }
  std::map<TensorId, std::int64_t> last_borrower;
  for (std::size_t u = 0; u < units; ++u) {
    if (borrowed[u].empty()) continue;
    const TensorId weight = borrowed[u][0];
    const auto [last, first] = last_borrower.try_emplace(weight, -1);
    tied.push_back({weight, first_user[static_cast<std::size_t>(weight.index)], static_cast<std::int64_t>(u),
                    std::exchange(last->second, std::ssize(tied))});
  }
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    const TensorId r = roots_.emplace_back(root_of(g, TensorId(t)));  // a view is carried as the tensor it views
    const Tensor& tensor = g.tensors[r];
    if (!tensor.producer.valid() || g.ops[tensor.producer].pass != Pass::forward) continue;
    if (r != TensorId(t)) views[r].push_back(TensorId(t));
    const std::int32_t made = g.ops[tensor.producer].unit.index;
    for (std::int32_t u = made + 1; u <= last_reader[t]; ++u) boundary[static_cast<std::size_t>(u)].push_back(r);
  }
  make_sets(boundary);
  find_remade();
  trained_.assign(g.tensors.size(), false);
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    const TensorId weight = sharding.summand_of[t];
    contributes[t] = weight.valid();
    if (contributes[t]) trained_[static_cast<std::size_t>(weight.index)] = true;
  }
  find_gradients();
  find_update_signatures();
  tell_apart_by_standing();
}

// Of equal units once.
void GraphFacts::find_update_signatures() {
  static constexpr Pass kUpdate[] = {Pass::update};
  std::unordered_map<std::uint64_t, std::uint64_t> by_unit;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const auto [known, fresh] = by_unit.try_emplace(signatures[u]);
    if (fresh) known->second = signature(graph, UnitId(u), kUpdate);
    update_signatures.push_back(known->second);
  }
}

// Units that do the same while other things stand beside them are not equal.
void GraphFacts::tell_apart_by_standing() {
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    for (const auto* tensors : {&boundary[u], &gradients[u + 1]}) {
      std::uint64_t sum = tensors->size();
      for (TensorId t : *tensors) {
        const TensorInfo& info = graph.info(t);
        sum += std::hash<std::string>()(to_text(info.shape) + std::string(name_of(info.type)));
      }
      signatures[u] = signatures[u] * 0x9E3779B97F4A7C15ULL + sum;
    }
  }
}

void GraphFacts::find_gradients() {
  gradients.resize(graph.units.size() + 1);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::backward || joins_summands(*this, op)) continue;
    for (TensorId t : op.inputs) {
      const OpId producer = t.valid() ? graph.tensors[t].producer : OpId();
      if (!producer.valid() || graph.ops[producer].pass != Pass::backward) continue;
      for (std::int32_t u = op.unit.index + 1; u <= graph.ops[producer].unit.index; ++u)
        gradients[static_cast<std::size_t>(u)].push_back(t);
    }
  }
  make_sets(gradients);
}

bool joins_summands(const GraphFacts& facts, const Op& op) {
  const auto contributes = [&](TensorId t) { return facts.contributes[static_cast<std::size_t>(t.index)]; };
  return op.pass == Pass::backward && op.def->joins == Joins::sum && contributes(op.outputs[0]) &&
         std::all_of(op.inputs.begin(), op.inputs.end(), contributes);
}

void GraphFacts::find_remade() {
  auto kept = [&](TensorId t) { return read_in_backward[static_cast<std::size_t>(t.index)]; };
  // The operand that a scale or shift by weights acts on; invalid: the op is something else.
  auto scaled_operand = [&](const Op& op) {
    TensorId full;
    if (op.def->joins == Joins::other) return TensorId();
    for (TensorId in : op.inputs) {
      if (graph.tensors[in].kind == TensorKind::weight) continue;
      if (full.valid() || graph.info(in).elements() != graph.info(op.outputs[0]).elements()) return TensorId();
      full = in;
    }
    return full;
  };
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward || !kept(op.outputs[0]) || leaves_unit[static_cast<std::size_t>(op.outputs[0].index)])
      continue;
    std::vector<OpId> chain;
    TensorId t = op.outputs[0];
    while (t.valid() && graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].unit == op.unit) {
      const OpId producer = graph.tensors[t].producer;
      t = scaled_operand(graph.ops[producer]);
      if (!t.valid()) break;
      chain.insert(chain.begin(), producer);
      if (kept(t) && !remade.count(t)) {
        remade[op.outputs[0]] = chain;
        break;
      }
    }
  }
  for (const auto& [t, chain] : remade) read_in_backward[static_cast<std::size_t>(t.index)] = false;
}

Bytes on_ipu(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor) {
  const TensorInfo& info = facts.graph.info(tensor);
  return Bytes(local_volume(info.shape, sharding.of(tensor), sharding.mesh) * size_of(info.type));
}

Bytes per_tile(Bytes on_ipu, std::int64_t tiles) { return Bytes(round_up(ceil_div(on_ipu.value, tiles), 8)); }

Bytes per_tile(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor, std::int64_t tiles) {
  return per_tile(on_ipu(facts, sharding, tensor), tiles);
}

}  // namespace superstep
