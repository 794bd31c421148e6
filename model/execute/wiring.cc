// SPDX-License-Identifier: Apache-2.0
#include "model/execute/wiring.h"

#include <algorithm>

#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep {

namespace {

std::set<OpId> joining_ops(const GraphFacts& facts) {
  std::set<OpId> joins;
  for (std::size_t i = 0; i < facts.graph.ops.size(); ++i) {
    if (joins_summands(facts, facts.graph.ops[OpId(i)])) joins.insert(OpId(i));
  }
  return joins;
}

void add_summands(const Graph& g, const std::set<OpId>& joins, TensorId of, TensorId gradient,
                  std::map<TensorId, std::vector<TensorId>>& out) {
  const OpId producer = g.tensors[of].producer;
  if (!joins.count(producer)) {
    SUPERSTEP_CHECK(g.info(of).shape == g.info(gradient).shape,
                    "a summand of another shape than " + g.tensors[gradient].name);
    out[of].push_back(gradient);
    return;
  }
  for (TensorId in : g.ops[producer].inputs) add_summands(g, joins, in, gradient, out);
}

}  // namespace

Wiring::Wiring(const GraphFacts& facts) : joins(joining_ops(facts)) {
  const Graph& g = facts.graph;
  const std::size_t units = g.units.size();
  forward.resize(units + 1);
  kept.resize(g.tensors.size());
  leaves.resize(g.tensors.size());
  for (std::size_t i = 0; i < g.tensors.size(); ++i) {
    TensorId t(i);
    while (g.tensors[t].producer.valid() && g.ops[g.tensors[t].producer].def->view)
      t = g.ops[g.tensors[t].producer].inputs[0];
    root.push_back(t);
    if (facts.read_in_backward[i]) kept[at(t)] = true;
    if (facts.leaves_unit[i]) leaves[at(t)] = true;
    if (g.tensors[TensorId(i)].kind == TensorKind::weight_gradient)
      add_summands(g, joins, TensorId(i), TensorId(i), gradients_of);
  }
  for (std::size_t i = 0; i < g.tensors.size(); ++i) {
    kept[i] = kept[at(root[i])];
    leaves[i] = leaves[at(root[i])];
    for (std::size_t u = 0; u <= units; ++u) {
      const auto& crossing = facts.boundary[u];
      if (std::binary_search(crossing.begin(), crossing.end(), root[i])) forward[u].insert(TensorId(i));
    }
  }
  for (const auto& crossing : facts.gradients) backward.emplace_back(crossing.begin(), crossing.end());
}

}  // namespace superstep
