// SPDX-License-Identifier: Apache-2.0
// The tables of the graph by phase: its units, what passes between them, the phases over time, and one phase.
#pragma once

#include <memory>

#include "gui/models/graph_rates.h"
#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

struct GraphShown {
  ReportPointer report;
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Phases> phases;
  std::vector<PhaseRates> rates = {};  // one for each of the phases; empty: not known

  QString ipuName(int ipu_class) const;
  double ms(std::int64_t cycles) const;  // 0 without a clock
};

QString megabytes(std::int64_t bytes);  // "0.56", of 10^6 bytes

// Unit, layer, stage, IPU, phase, state at the cursor, parameters, weights in MB and bytes.
inline constexpr int kUnitState = 5;
TableContents graph_units_table(const GraphShown& shown, std::shared_ptr<const GraphMoment> moment);
// From, to, MB, bytes of a micro-batch.
TableContents graph_edges_table(const GraphShown& shown);
// Number, name, runs, begins at, takes, computing, loading, storing in ms; then the cycles.
inline constexpr int kPhaseCycles = 8;
TableContents graph_phases_table(const GraphShown& shown);
// What is to be known of the phase at the cursor, name and value.
TableContents graph_facts_table(const GraphShown& shown, const GraphMoment& moment, std::int64_t cursor);
// Its calls and steps in program order: name, IPU, runs, cycles of one, us of one; kSourceRole is the place in works.
TableContents graph_works_table(const GraphShown& shown, int phase);
// The ops inside a call, in order: name, supersteps, us, cycles, bytes exchanged. Cycles sum to those of the call.
TableContents graph_ops_table(const GraphShown& shown, const Steps& steps, int function);

}  // namespace superstep::gui
