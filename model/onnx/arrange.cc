// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/arrange.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "model/graph/op_def.h"

namespace superstep::onnx_import {

namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = path.find('/', begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(path.substr(begin, end - begin));
  }
  parts.push_back(path.substr(begin));
  return parts;
}

// What the ops' names, as paths, have in common, less their last part; "" when that is nothing.
std::string common_scope(const Graph& graph, const std::vector<OpId>& ops) {
  std::vector<std::string> common;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    std::vector<std::string> parts = parts_of(graph.ops[ops[i]].name);
    parts.pop_back();
    if (i == 0) common = parts;
    const auto differ = std::mismatch(common.begin(), common.end(), parts.begin(), parts.end()).first;
    common.erase(differ, common.end());
  }
  std::string scope;
  for (const std::string& part : common) scope += (scope.empty() ? "" : "/") + part;
  return scope;
}

// Scopes where they tell units apart; numbers where they do not, or where there are none.
std::vector<std::string> unit_names(const Graph& graph, const std::vector<std::vector<OpId>>& units) {
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (const auto& unit : units) {
    names.push_back(common_scope(graph, unit));
    ++uses[names.back()];
  }
  const std::vector<std::string> scopes = names;
  std::set<std::string> taken;
  std::map<std::string, int> seen;
  for (std::size_t u = 0; u < names.size(); ++u) {
    std::string& name = names[u];
    const bool wide = name.empty() || std::any_of(scopes.begin(), scopes.end(), [&](const std::string& other) {
                        return other.starts_with(name + "/");
                      });
    if (wide) name = "block" + std::to_string(u);
    if (!wide && uses[name] > 1) name += "/" + std::to_string(seen[name]++);
    while (!taken.insert(name).second) name += "'";
  }
  return names;
}

class Arranger {
 public:
  Arranger(const Graph& graph, const std::vector<TensorId>& roots)
      : g_(graph), roots_(roots), roles_(find_roles(graph, roots)), units_of_(graph.ops.size()) {}

  Arrangement run() {
    std::vector<OpId> path;
    for (std::size_t i = 0; i < g_.ops.size(); ++i) {
      if (roles_.live[i] && roles_.path[i]) path.push_back(OpId(i));
    }
    const auto units = path.empty() ? std::vector<std::vector<OpId>>{} : cut_units(g_, path, roles_);
    place(units);
    const std::vector<std::string> names = unit_names(g_, units);
    out_.moved.resize(g_.tensors.size());
    out_.graph.name = g_.name;
    out_.graph.micro_batch = g_.micro_batch;
    out_.graph.sample_dimension = g_.sample_dimension;
    out_.graph.statistics_group = g_.statistics_group;
    for (TensorId t : g_.inputs) out_.graph.inputs.push_back(source(t));
    for (TensorId t : roots_) {
      if (!g_.tensors[t].producer.valid()) source(t);
    }
    std::vector<std::vector<OpId>> members(std::max<std::size_t>(units.size(), 1));
    for (std::size_t i = 0; i < g_.ops.size(); ++i) {
      for (std::size_t u : units_of_[i]) members[u].push_back(OpId(i));
    }
    for (std::size_t u = 0; u < members.size(); ++u) fill(u, u < names.size() ? names[u] : "block0", members[u]);
    return std::move(out_);
  }

 private:
  // Which units each live op stands in.
  void place(const std::vector<std::vector<OpId>>& units) {
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (OpId id : units[u]) units_of_[at(id)] = {u};
    }
    for (std::size_t i = g_.ops.size(); i-- > 0;) {
      const Op& op = g_.ops[OpId(i)];
      if (!roles_.live[i]) continue;
      std::set<std::size_t>& own = units_of_[i];
      if (own.empty()) own.insert(0);  // only an output of the graph
      if (op.def->product) own = {*own.begin()};
      for (TensorId t : op.inputs) {
        const OpId producer = t.valid() ? g_.tensors[t].producer : OpId{};
        if (producer.valid() && !roles_.path[at(producer)]) units_of_[at(producer)].insert(own.begin(), own.end());
      }
    }
  }

  TensorId source(TensorId t) {
    TensorId& moved = out_.moved[at(t)];
    if (!moved.valid()) moved = out_.graph.tensors.push_back(g_.tensors[t]);
    return moved;
  }

  TensorId operand(TensorId t) {
    if (!t.valid()) return t;
    const auto here = in_unit_.find(t);
    if (here != in_unit_.end()) return here->second;
    return g_.tensors[t].producer.valid() ? out_.moved[at(t)] : source(t);
  }

  void fill(std::size_t u, const std::string& name, const std::vector<OpId>& members) {
    Unit unit;
    unit.name = name;
    unit.layer = static_cast<std::int64_t>(u);
    const UnitId id = out_.graph.units.push_back(std::move(unit));
    in_unit_.clear();
    for (OpId op : members) copy(op, id, *units_of_[at(op)].begin() != u);
  }

  void copy(OpId id, UnitId unit, bool again) {
    Op op = g_.ops[id];
    const OpId made(out_.graph.ops.size());
    if (again) op.name += "@" + out_.graph.units[unit].name;
    op.unit = unit;
    for (TensorId& t : op.inputs) t = operand(t);
    op.gradient_operand = operand(op.gradient_operand);
    if (!op.gradient_operand.valid()) op.gradient_rule = nullptr;
    for (TensorId& t : op.outputs) {
      Tensor tensor = g_.tensors[t];
      tensor.producer = made;
      if (again) tensor.name += "@" + out_.graph.units[unit].name;
      const TensorId fresh = out_.graph.tensors.push_back(std::move(tensor));
      in_unit_[t] = fresh;
      if (!again) out_.moved[at(t)] = fresh;
      t = fresh;
    }
    out_.graph.ops.push_back(std::move(op));
    out_.graph.units[unit].ops[static_cast<int>(Pass::forward)].push_back(made);
  }

  const Graph& g_;
  const std::vector<TensorId>& roots_;
  const Roles roles_;
  std::vector<std::set<std::size_t>> units_of_;
  std::map<TensorId, TensorId> in_unit_;  // results made in the unit being filled
  Arrangement out_;
};

}  // namespace

Arrangement arrange(const Graph& graph, const std::vector<TensorId>& roots) { return Arranger(graph, roots).run(); }

}  // namespace superstep::onnx_import
