// SPDX-License-Identifier: Apache-2.0
#include "gui/models/graph_data.h"

#include <algorithm>

#include "traces/damaged.h"

namespace superstep::gui {
namespace {

void load_edges(const ReportFile& report, Graph& out) {
  if (!report.has_column("edge.from")) return;
  const auto from = report.column_integers("edge.from");
  const auto to = report.column_integers("edge.to");
  const auto bytes = report.column_integers("edge.bytes");
  check_rows(report, "edge.*", from.size(), to, bytes);
  const auto units = static_cast<std::int64_t>(out.units.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::min(from[i], to[i]) < 0 || std::max(from[i], to[i]) >= units) {
      damaged(report, "an edge from unit " + std::to_string(from[i]) + " to unit " + std::to_string(to[i]) + " of " +
                          std::to_string(units));
    }
    out.edges.push_back({static_cast<int>(from[i]), static_cast<int>(to[i]), bytes[i]});
  }
}

}  // namespace

Graph load_graph(const ReportFile& report) {
  Graph out;
  if (!report.has_column("unit.name")) return out;
  const TextColumn names = report.column_texts("unit.name");
  const auto layers = report.column_integers("unit.layer");
  const auto stages = report.column_integers("unit.stage");
  const auto classes = report.column_integers("unit.ipu_class");
  const auto phases = report.column_integers("unit.phase");
  const auto parameters = report.column_integers("unit.parameters");
  const auto bytes = report.column_integers("unit.weight_bytes");
  const std::size_t n = names.size();
  check_rows(report, "unit.*", n, layers, stages, classes, phases, parameters, bytes);
  for (std::size_t i = 0; i < n; ++i) {
    if (classes[i] < 0 || classes[i] >= report.index().ipu_classes_size()) {
      damaged(report, "unit \"" + names[i] + "\" is on IPU class " + std::to_string(classes[i]) + " of " +
                          std::to_string(report.index().ipu_classes_size()));
    }
    out.units.push_back({names[i], layers[i], static_cast<int>(stages[i]), static_cast<int>(classes[i]),
                         static_cast<int>(phases[i]), parameters[i], bytes[i]});
  }
  load_edges(report, out);
  return out;
}

PhaseWork::Moment PhaseWork::at(std::int64_t cycle) const {
  if (cycle < loop_begin) return Moment::before;
  if (cycle >= end() || period <= 0) return Moment::after;
  const std::int64_t local = (cycle - loop_begin) % period;
  if (local < offset) return Moment::before;
  return local < offset + cycles ? Moment::during : Moment::after;
}

int Phases::at(std::int64_t cycle) const {
  if (list.empty()) return -1;
  const auto after = std::upper_bound(list.begin(), list.end(), cycle,
                                      [](std::int64_t c, const GraphPhase& phase) { return c < phase.begin; });
  return std::max(0, static_cast<int>(after - list.begin()) - 1);
}

const char* word_of(UnitState state) {
  switch (state) {
    case UnitState::running:
      return "runs";
    case UnitState::done:
      return "done";
    case UnitState::waiting:
      return "waits";
    case UnitState::loading:
      return "loads";
    case UnitState::storing:
      return "stores";
    default:
      return "";
  }
}

int group_of(const Phases& phases, const GraphUnit& unit) { return phases.calls ? unit.stage : unit.phase; }

int next_phase_of(const Phases& phases, int unit, int phase) {
  const int n = static_cast<int>(phases.list.size());
  for (int step = 1; step <= n; ++step) {
    const int at = (std::max(phase, -1) + step + n) % n;
    for (const PhaseWork& work : phases.list[static_cast<std::size_t>(at)].works) {
      if (work.unit == unit) return at;
    }
  }
  return -1;
}

namespace {

void set_phase_units(const GraphPhase& phase, std::int64_t local, std::vector<UnitState>& units) {
  for (const PhaseWork& work : phase.works) {
    if (work.unit < 0) continue;
    UnitState& state = units[static_cast<std::size_t>(work.unit)];
    const PhaseWork::Moment moment = work.at(local);
    if (moment == PhaseWork::Moment::during) {
      state = UnitState::running;
    } else if (!work.update && state != UnitState::running) {  // an update to come does not make a unit wait
      const bool waits = moment == PhaseWork::Moment::before || state == UnitState::waiting;
      state = waits ? UnitState::waiting : UnitState::done;
    }
  }
}

// Without phases, the calls before and after it on the same stage.
void set_stage_units(const Graph& graph, const Phases& phases, int at, std::vector<UnitState>& units) {
  const auto& here = phases.list[static_cast<std::size_t>(at)];
  const auto mark = [&](int from, int step, UnitState state) {
    for (int i = from; i >= 0 && i < static_cast<int>(phases.list.size()); i += step) {
      const GraphPhase& other = phases.list[static_cast<std::size_t>(i)];
      if (other.number != here.number || (other.pass == "forward") != (here.pass == "forward") ||
          (other.pass == "update") != (here.pass == "update")) {
        return;
      }
      const int unit = other.works.front().unit;
      if (unit < 0 || graph.units[static_cast<std::size_t>(unit)].stage != here.number) return;
      if (units[static_cast<std::size_t>(unit)] == UnitState::idle) units[static_cast<std::size_t>(unit)] = state;
    }
  };
  mark(at + 1, 1, UnitState::waiting);
  mark(at - 1, -1, UnitState::done);
}

void set_streams(const Graph& graph, const GraphPhase& phase, std::int64_t local, GraphMoment& out) {
  bool updates = false;
  for (const PhaseWork& work : phase.works) {
    if (work.at(local) != PhaseWork::Moment::during) continue;
    updates = updates || work.update;
    const int whose = work.of_phase >= 0 ? work.of_phase : phase.number;
    if (work.stream == Stream::load && !work.update && work.of_phase >= 0) out.loading = whose;
    if (work.stream == Stream::store || work.update) out.storing = whose;
  }
  for (std::size_t i = 0; i < graph.units.size(); ++i) {
    UnitState& state = out.units[i];
    if (state == UnitState::running) continue;
    const int number = graph.units[i].phase;
    // What a phase stores while it computes is told by its frame; its units still compute or wait.
    if (number == out.storing && (number != phase.number || updates)) state = UnitState::storing;
    if (number == out.loading && (number != phase.number || state == UnitState::waiting)) state = UnitState::loading;
  }
}

}  // namespace

GraphMoment moment_at(const Graph& graph, const Phases& phases, std::int64_t cycle) {
  GraphMoment out;
  out.units.resize(graph.units.size(), UnitState::idle);
  out.phase = phases.at(cycle);
  if (out.phase < 0) return out;
  const GraphPhase& phase = phases.list[static_cast<std::size_t>(out.phase)];
  const std::int64_t local =
      std::clamp<std::int64_t>(cycle - phase.begin, 0, std::max<std::int64_t>(0, phase.row.cycles - 1));
  set_phase_units(phase, local, out.units);
  for (std::size_t i = 0; i < phase.works.size(); ++i) {
    const PhaseWork& work = phase.works[i];
    if (!phases.calls && work.runs > 1 && local >= work.loop_begin && local < work.end()) {
      out.iteration = (local - work.loop_begin) / work.period + 1;
      out.iterations = work.runs;
    }
    if (work.unit >= 0 && work.at(local) == PhaseWork::Moment::during) out.running.push_back(static_cast<int>(i));
  }
  if (phases.calls) {
    set_stage_units(graph, phases, out.phase, out.units);
  } else {
    set_streams(graph, phase, local, out);
  }
  return out;
}

}  // namespace superstep::gui
