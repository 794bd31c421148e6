// SPDX-License-Identifier: Apache-2.0
// The model graph by units, and what of it runs, waits, is loaded or stored at a moment of the step. The time is the
// program's: its phases one after another or, in a plan without phases, the calls that one micro-batch passes through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/phases_text.h"
#include "traces/report_io.h"

namespace superstep::gui {

struct GraphUnit {
  std::string name;         // "layer3/ffn_up"
  std::int64_t layer = -1;  // -1: of none
  int stage = 0, ipu_class = 0, phase = 0;
  std::int64_t parameters = 0, weight_bytes = 0;
};

struct GraphEdge {
  int from = 0, to = 0;  // units
  std::int64_t bytes = 0;
};

struct Graph {
  std::vector<GraphUnit> units;
  std::vector<GraphEdge> edges;
};

// Reads the unit.* and edge.* columns; without them a Graph without units. Throws Error when they contradict each
// other.
Graph load_graph(const ReportFile& report);

enum class Stream { none, load, store };

// A call or a step of a phase. It runs `runs` times, `period` apart, `offset` after each begin.
struct PhaseWork {
  std::string name;
  std::string pass;   // of a call: forward, recompute, backward, update
  int unit = -1;      // of a call; -1: a step
  int ipu_class = 0;  // -1: of all
  int function = -1;
  Stream stream = Stream::none;
  int of_phase = -1;  // whose weights, gradients or optimizer state are streamed; -1: of the phase it is in
  bool update = false;
  std::int64_t loop_begin = 0, offset = 0, cycles = 0, period = 0, runs = 1;  // cycles from the phase's begin

  enum class Moment { before, during, after };  // of this iteration
  Moment at(std::int64_t cycle) const;
  std::int64_t end() const { return loop_begin + period * runs; }
};

struct GraphPhase {
  PhaseRow row;      // name, contents and cycles as `superstep explain` says them
  std::string pass;  // forward, backward, update; of a call also recompute; empty: before or after the phases
  int number = -1;   // of the phase (or, in plans without phases, the stage) whose units run; -1: none
  std::int64_t begin = 0;
  std::vector<PhaseWork> works;  // in program order
  std::int64_t end() const { return begin + row.cycles; }
};

struct Phases {
  bool calls = false;  // the plan has no phases: each entry is a call
  std::vector<GraphPhase> list;
  std::int64_t total() const { return list.empty() ? 0 : list.back().end(); }
  int at(std::int64_t cycle) const;  // clamped; -1 without phases
};

Phases graph_phases(const report::ProgramNode& program, const Graph& graph);

enum class UnitState { idle, waiting, done, running, loading, storing };
const char* word_of(UnitState state);

struct GraphMoment {
  int phase = -1;
  std::vector<UnitState> units;                // one per unit of the graph
  std::vector<int> running;                    // works of the phase, in program order
  int loading = -1, storing = -1;              // phase numbers; -1: none
  std::int64_t iteration = 0, iterations = 0;  // of the loop that runs; 0: none does
};

GraphMoment moment_at(const Graph& graph, const Phases& phases, std::int64_t cycle);
// The next entry after `phase` in which the unit runs, around the end; -1: none.
int next_phase_of(const Phases& phases, int unit, int phase);
// The phase or, in plans without phases, the stage around a unit.
int group_of(const Phases& phases, const GraphUnit& unit);

}  // namespace superstep::gui
