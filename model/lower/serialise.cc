// SPDX-License-Identifier: Apache-2.0
#include "model/lower/serialise.h"

#include <algorithm>
#include <array>
#include <set>

#include "model/ops/product_def.h"

namespace superstep {
namespace {

struct Factor {
  UnitRole role;
  std::int64_t Serialisation::*parts;
};
constexpr std::array<Factor, 4> kFactors = {{{UnitRole::embedding, &Serialisation::embedding},
                                             {UnitRole::head, &Serialisation::head},
                                             {UnitRole::attention, &Serialisation::attention},
                                             {UnitRole::feed_forward, &Serialisation::feed_forward}}};

TensorId viewed(const Graph& g, TensorId t) {
  while (t.valid() && g.tensors[t].producer.valid() && g.ops[g.tensors[t].producer].def->view)
    t = g.ops[g.tensors[t].producer].inputs[0];
  return t;
}

// The weight that the op reads, or whose gradient it makes; invalid: none. Of several the largest.
TensorId weight_of(const GraphFacts& facts, const Op& op) {
  const Graph& g = facts.graph;
  TensorId found;
  const auto consider = [&](TensorId t) {
    if (t.valid() && (!found.valid() || g.info(t).elements() > g.info(found).elements())) found = t;
  };
  for (TensorId t : op.inputs) {
    const TensorId root = viewed(g, t);
    if (root.valid() && g.tensors[root].kind == TensorKind::weight) consider(root);
  }
  if (op.pass == Pass::backward) {
    for (TensorId t : op.outputs) consider(facts.sharding.summand_of[static_cast<std::size_t>(t.index)]);
  }
  return found;
}

TensorId largest_weight(const GraphFacts& facts, UnitId unit) {
  TensorId found;
  for (const auto* list : {&facts.weights, &facts.borrowed}) {
    for (TensorId t : (*list)[static_cast<std::size_t>(unit.index)]) {
      if (!found.valid() || facts.graph.info(t).elements() > facts.graph.info(found).elements()) found = t;
    }
  }
  return found;
}

bool obeys(const GraphFacts& facts, UnitRole role, const Op& op) {
  if (op.pass == Pass::update) return false;
  const TensorId weight = weight_of(facts, op);
  switch (role) {
    case UnitRole::embedding:
      return op.def->lookup != Lookup::none && weight.valid();
    case UnitRole::head:
      return op.def->product && weight.valid() && weight == largest_weight(facts, op.unit);
    case UnitRole::attention:
      return op.def->product && !weight.valid();
    case UnitRole::feed_forward:
      return op.def->product;
    case UnitRole::other:
      break;
  }
  return false;
}

// Extents of the axes that parts may cut, any one of them.
std::vector<std::int64_t> axes_cut(const GraphFacts& facts, OpId id) {
  const Op& op = facts.graph.ops[id];
  const OpUse& use = facts.sharding.uses.of(id);
  const Space& space = use.space;
  auto extent = [&](const std::vector<int>& axes) {
    std::int64_t n = 1;
    for (int a : axes) n *= space.axes[static_cast<std::size_t>(a)].extent;
    return n;
  };
  if (!op.def->product) return {space.axes[feature_axis(space)].extent};
  const ProductAxes axes = op.def->product->axes(*use.call);
  if (facts.contributes[static_cast<std::size_t>(op.outputs[0].index)]) return {extent(axes.columns)};
  return {extent(axes.columns), extent(axes.contracted)};
}

// Whether an axis, or the share of it that one IPU of a tensor-parallel group has, falls in equal parts.
bool divides_axis(std::int64_t parts, std::int64_t axis, std::int64_t t) {
  return (axis % t == 0 ? axis / t : axis) % parts == 0;
}

}  // namespace

std::int64_t forced_parts(const GraphFacts& facts, const Serialisation& factors, OpId op) {
  const Op& of = facts.graph.ops[op];
  for (const Factor& f : kFactors) {
    if (factors.*f.parts > 0 && facts.graph.units[of.unit].role == f.role && obeys(facts, f.role, of))
      return factors.*f.parts;
  }
  return 0;
}

std::size_t feature_axis(const Space& space) { return space.axes.size() - 2; }  // the last one is the table's rows

std::vector<std::int64_t> possible_factors(const GraphFacts& facts, std::string_view kind, std::int64_t least,
                                           std::int64_t most) {
  const auto* of = std::ranges::find(kFactors, kind, [](const Factor& f) { return name_of(f.role); });
  std::vector<std::int64_t> out;
  Plan plan;
  for (std::int64_t parts = least; parts <= most; ++parts) {
    plan.serialisation.*of->parts = parts;
    if (check_serialisation(facts, plan).empty()) out.push_back(parts);
  }
  return out;
}

std::string check_serialisation(const GraphFacts& facts, const Plan& plan) {
  const Graph& g = facts.graph;
  for (const Factor& f : kFactors) {
    const std::int64_t parts = plan.serialisation.*f.parts, t = plan.tensor_parallel.size();
    if (parts == 0) continue;
    const std::string field = "serialisation." + std::string(name_of(f.role)) + " " + std::to_string(parts);
    std::set<std::uint64_t> seen;
    bool any = false;
    for (std::size_t u = 0; u < g.units.size(); ++u) {
      const Unit& unit = g.units[UnitId(u)];
      if (unit.role != f.role || !seen.insert(facts.signatures[u]).second) continue;
      for (const auto& pass : unit.ops) {
        for (OpId id : pass) {
          if (!obeys(facts, f.role, g.ops[id])) continue;
          any = true;
          const std::vector<std::int64_t> axes = axes_cut(facts, id);
          if (std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) { return divides_axis(parts, axis, t); }))
            continue;
          std::string text;
          for (std::int64_t axis : axes) text += (text.empty() ? "" : " or ") + std::to_string(axis);
          return field + " does not cut " + g.ops[id].name + " into equal parts: its axis has " + text + " elements" +
                 (t > 1 ? " over " + std::to_string(t) + " IPUs" : "");
        }
      }
    }
    if (!any) return field + ": the model has no " + std::string(name_of(f.role)) + " that it could apply to";
  }
  return "";
}

}  // namespace superstep
