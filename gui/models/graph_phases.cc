// SPDX-License-Identifier: Apache-2.0
// From the program tree to the phases of the graph.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "gui/models/graph_data.h"

namespace superstep::gui {
namespace {

struct Place {
  std::int64_t begin = 0;                             // of the node; inside a loop, of its first iteration
  std::int64_t loop_begin = 0, period = 0, runs = 1;  // period 0: in no loop
  int ipu_class = -1;
  int of_phase = -1;
  bool update = false;
};

int number_after(const std::string& name, std::string_view head) {
  if (!name.starts_with(head)) return -1;
  int number = -1;
  std::from_chars(name.data() + head.size(), name.data() + name.size(), number);
  return number;
}

bool is_phase(const report::ProgramNode& n) { return n.kind() == "sequence" && n.name().starts_with("phase "); }

bool holds_phases(const report::ProgramNode& n) {
  return is_phase(n) || std::any_of(n.children().begin(), n.children().end(), holds_phases);
}

std::int64_t takes(const report::ProgramNode& n) {
  return n.kind() == "repeat" ? n.cycles() * std::max<std::int64_t>(1, n.count()) : n.cycles();
}

class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.units.size(); ++i) units_[graph.units[i].name] = static_cast<int>(i);
  }

  void flatten(const report::ProgramNode& n, Place place, std::vector<PhaseWork>& out) const {
    if (n.ipu_class() >= 0 && n.kind() == "sequence") place.ipu_class = static_cast<int>(n.ipu_class());
    if (n.kind() == "call" || n.kind() == "step") return add(n, place, out);
    for (const char* head : {"load phase ", "update phase "}) {
      if (const int number = number_after(n.name(), head); number >= 0) place.of_phase = number;
    }
    place.update = place.update || n.name().starts_with("update phase ") || n.name() == "weight update";
    if (n.kind() == "repeat" && place.period == 0) {
      place.loop_begin = place.begin, place.period = n.cycles(), place.runs = std::max<std::int64_t>(1, n.count());
    }
    for (const report::ProgramNode& child : n.children()) {
      flatten(child, place, out);
      if (n.kind() != "parallel") place.begin += takes(child);
    }
  }

  // Pieces of the step, one after another: phases, and what comes before, between and after them.
  void collect(const report::ProgramNode& n, Phases& out) const {
    if (!is_phase(n) && holds_phases(n)) {
      for (const report::ProgramNode& child : n.children()) collect(child, out);
      return;
    }
    report::ProgramNode whole;  // phase_rows() knows phases by their name
    whole.set_kind("sequence"), whole.set_name(is_phase(n) ? n.name() : "phase " + n.name()),
        whole.set_cycles(takes(n));
    *whole.add_children() = n;
    GraphPhase phase;
    phase.row = phase_rows(whole).front();
    phase.row.name = n.name();
    phase.number = is_phase(n) ? number_after(n.name(), "phase ") : -1;
    if (is_phase(n)) phase.pass = n.name().substr(n.name().rfind(' ') + 1);
    phase.begin = out.total();
    flatten(n, {}, phase.works);
    out.list.push_back(std::move(phase));
  }

  const GraphUnit* unit(int index) const {
    return index < 0 ? nullptr : &graph_.units[static_cast<std::size_t>(index)];
  }

 private:
  void add(const report::ProgramNode& n, const Place& place, std::vector<PhaseWork>& out) const {
    PhaseWork work;
    work.name = n.name();
    work.ipu_class = place.ipu_class;
    work.of_phase = place.of_phase, work.update = place.update;
    work.cycles = n.cycles();
    const bool looped = place.period > 0;
    work.loop_begin = looped ? place.loop_begin : place.begin;
    work.offset = looped ? place.begin - place.loop_begin : 0;
    work.period = looped ? place.period : n.cycles();
    work.runs = looped ? place.runs : 1;
    if (n.kind() == "call") {
      const std::size_t space = n.name().rfind(' ');
      work.function = static_cast<int>(n.function());
      if (space != std::string::npos) work.pass = n.name().substr(space + 1);
      const auto at = units_.find(n.name().substr(0, space));
      if (at != units_.end()) work.unit = at->second;
      if (work.unit >= 0 && work.ipu_class < 0) work.ipu_class = unit(work.unit)->ipu_class;
    } else if (n.name().starts_with("load")) {
      work.stream = Stream::load;
    } else if (n.name().starts_with("store")) {
      work.stream = Stream::store;
    }
    out.push_back(std::move(work));
  }

  const Graph& graph_;
  std::unordered_map<std::string, int> units_;
};

// A micro-batch passes forward through the stages and back through them in turn; then weights are updated.
Phases calls_in_order(const report::ProgramNode& program, const Reader& reader) {
  std::vector<PhaseWork> works;
  reader.flatten(program, {}, works);
  std::erase_if(works, [](const PhaseWork& work) { return work.unit < 0; });
  const auto place = [&](const PhaseWork& work) {
    const int turn = work.pass == "forward" ? 0 : work.pass == "update" ? 2 : 1;
    const int stage = reader.unit(work.unit)->stage;
    return std::pair(turn, turn == 1 ? -stage : stage);
  };
  std::stable_sort(works.begin(), works.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  Phases out;
  out.calls = true;
  for (PhaseWork& work : works) {
    GraphPhase phase;
    const GraphUnit& unit = *reader.unit(work.unit);
    phase.row = {work.name, unit.name, work.cycles, work.cycles, 0, 0};
    phase.pass = work.pass, phase.number = unit.stage, phase.begin = out.total();
    work.loop_begin = work.offset = 0;  // its own clock: the one micro-batch that is followed
    work.period = work.cycles;
    work.update = false;
    phase.works.push_back(std::move(work));
    out.list.push_back(std::move(phase));
  }
  return out;
}

}  // namespace

Phases graph_phases(const report::ProgramNode& program, const Graph& graph) {
  const Reader reader(graph);
  if (graph.units.empty()) return {};
  if (!holds_phases(program)) return calls_in_order(program, reader);
  Phases out;
  reader.collect(program, out);
  return out;
}

}  // namespace superstep::gui
