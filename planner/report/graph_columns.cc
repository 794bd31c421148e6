// SPDX-License-Identifier: Apache-2.0
#include "planner/report/graph_columns.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/space/software_facts.h"

namespace superstep {
namespace {

using Integers = std::vector<std::int64_t>;

void add_units(ReportWriter& writer, const Evaluated& e, const UnitTable& table) {
  const Graph& g = table.facts().graph;
  std::vector<std::string> names;
  Integers layers, checkpoints, stages, ipus, phases, parameters, weight_bytes;
  const std::vector<StageSpan> spans = stage_spans(e.plan, static_cast<std::int64_t>(table.units()));
  for (std::size_t s = 0; s < spans.size(); ++s) {
    for (std::int64_t u = spans[s].begin; u < spans[s].end; ++u) {
      const Unit& unit = g.units[UnitId(static_cast<std::int32_t>(u))];
      const UnitRow& row = table.row(static_cast<std::size_t>(u));
      names.push_back(unit.name);
      layers.push_back(unit.layer);
      checkpoints.push_back(checkpoint_of(unit));
      stages.push_back(static_cast<std::int64_t>(s));
      ipus.push_back(spans[s].ipu);
      phases.push_back(spans[s].phase);
      parameters.push_back(row.parameters);
      weight_bytes.push_back(row.weight_bytes.value);
    }
  }
  writer.add_texts("unit.name", names);
  writer.add_integers("unit.layer", "index", layers);
  writer.add_integers("unit.checkpoint", "index", checkpoints);
  writer.add_integers("unit.stage", "index", stages);
  writer.add_integers("unit.ipu_class", "index", ipus);
  writer.add_integers("unit.phase", "index", phases);
  writer.add_integers("unit.parameters", "index", parameters);
  writer.add_integers("unit.weight_bytes", "bytes", weight_bytes);
}

// Adds an edge for each pair of units of which one reads forward results of the other. A tensor counts once per edge.
void add_edges(ReportWriter& writer, const Graph& g) {
  std::map<TensorId, std::size_t> maker;
  std::map<std::pair<std::size_t, std::size_t>, std::set<TensorId>> taken;
  for (std::size_t u = 0; u < g.units.size(); ++u) {
    for (OpId id : g.units[UnitId(u)].ops[static_cast<std::size_t>(Pass::forward)]) {
      for (TensorId t : g.ops[id].inputs) {
        const auto from = maker.find(t);
        if (from != maker.end() && from->second != u) taken[{from->second, u}].insert(t);
      }
      for (TensorId t : g.ops[id].outputs) maker[t] = u;
    }
  }
  Integers from, to, bytes;
  for (const auto& [ends, tensors] : taken) {
    std::int64_t sum = 0;
    for (TensorId t : tensors) sum += g.info(t).bytes().value;
    from.push_back(static_cast<std::int64_t>(ends.first));
    to.push_back(static_cast<std::int64_t>(ends.second));
    bytes.push_back(sum);
  }
  writer.add_integers("edge.from", "index", from);
  writer.add_integers("edge.to", "index", to);
  writer.add_integers("edge.bytes", "bytes", bytes);
}

// Adds a row for each unit that uses a weight of an earlier unit.
void add_ties(ReportWriter& writer, const GraphFacts& facts) {
  Integers owners, borrowers;
  for (const UnitFacts::Tie& tie : unit_facts(facts).ties) {
    owners.push_back(tie.owner);
    borrowers.push_back(tie.borrower);
  }
  writer.add_integers("tie.owner", "index", owners);
  writer.add_integers("tie.borrower", "index", borrowers);
}

}  // namespace

void add_graph_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table) {
  add_units(writer, e, table);
  add_edges(writer, table.facts().graph);
  add_ties(writer, table.facts());
}

}  // namespace superstep
