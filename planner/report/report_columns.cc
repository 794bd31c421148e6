// SPDX-License-Identifier: Apache-2.0
#include "planner/report/report_columns.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "planner/report/call_list.h"
#include "planner/report/graph_columns.h"
#include "planner/report/memory_columns.h"
#include "planner/report/streaming_columns.h"

namespace superstep {
namespace {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

void add_steps(ReportWriter& writer, report::Index& index, const Evaluated& e, const UnitTable& table) {
  const Graph& g = table.facts().graph;
  const CostModel& model = table.model();
  Texts name, kind, term;
  Integers function, cycles, compute, exchange, sync, bytes, live, temporary, keeping, tiles;
  std::int64_t number = 0;
  for (const Function& f : e.program.functions) {
    report::Function* out = index.add_functions();
    out->set_name(f.name);
    out->set_first_step(static_cast<std::int64_t>(name.size()));
    out->set_steps(static_cast<std::int64_t>(f.steps.size()));
    out->set_cycles(model.function(f).total().value);
    const auto& ops = g.units[f.unit].ops[static_cast<std::size_t>(f.pass)];
    for (const Step& s : f.steps) {
      const TermCycles t = model.step(s);
      name.push_back(s.op >= 0 ? g.ops[ops[static_cast<std::size_t>(s.op)]].name : f.name);
      kind.push_back(std::string(text_of(s.kind)));
      term.push_back(std::string(name_of(s.term)));
      function.push_back(number);
      cycles.push_back(t.total().value);
      sync.push_back(t[Term::superstep]);
      const std::int64_t rest = t.total().value - t[Term::superstep];
      compute.push_back(s.kind == StepKind::compute ? rest : 0);
      exchange.push_back(s.kind == StepKind::compute ? 0 : rest);
      const std::int64_t moved = (s.tile_bytes + s.paired_bytes).value * s.times;
      bytes.push_back(s.kind == StepKind::exchange ? moved * s.tiles : moved);
      live.push_back((s.live + s.temporary).value);
      temporary.push_back(s.temporary.value);
      keeping.push_back(s.keeping.value);
      tiles.push_back(s.tiles);
    }
    ++number;
  }
  writer.add_texts("step.name", name);
  writer.add_texts("step.kind", kind);
  writer.add_texts("step.term", term);
  writer.add_integers("step.function", "index", function);
  writer.add_integers("step.cycles", "cycles", cycles);
  writer.add_integers("step.compute_cycles", "cycles", compute);
  writer.add_integers("step.exchange_cycles", "cycles", exchange);
  writer.add_integers("step.sync_cycles", "cycles", sync);
  writer.add_integers("step.bytes", "bytes", bytes);
  writer.add_integers("step.live_bytes", "bytes", live);
  writer.add_integers("step.temporary_bytes", "bytes", temporary);
  writer.add_integers("step.keeping_bytes", "bytes", keeping);
  writer.add_integers("step.tiles", "index", tiles);
}

// Load of the tiles [first, first + count) in a call, per tile: cycles, bytes received, bytes of memory. The tiles are
// alike because the same steps use them.
struct TileRun {
  std::int64_t first, count, compute, exchange, memory;
};

std::vector<TileRun> tile_runs(const Function& f, const CostModel& model, std::int64_t compute_tiles,
                               std::int64_t chip_tiles, Bytes resident, bool keeps) {
  std::set<std::int64_t> edges = {0, compute_tiles, chip_tiles};
  for (const Step& s : f.steps) {
    if (s.tiles > 0 && s.tiles < compute_tiles) edges.insert(s.tiles);
  }
  std::vector<TileRun> runs;
  for (auto it = edges.begin(); std::next(it) != edges.end(); ++it) {
    TileRun run{*it, *std::next(it) - *it, 0, 0, 0};
    const bool io = run.first >= compute_tiles;
    for (const Step& s : f.steps) {
      const bool takes_part = !io && (s.tiles == 0 || run.first < s.tiles);
      if (!takes_part) continue;
      const TermCycles t = model.step(s);
      if (s.kind == StepKind::compute) run.compute += t.total().value - t[Term::superstep];
      if (s.kind == StepKind::exchange) run.exchange += (s.tile_bytes + s.paired_bytes).value * s.times;
      run.memory = std::max(run.memory, (s.live + s.temporary + (keeps ? s.keeping : Bytes(0))).value);
    }
    run.memory += io ? 0 : resident.value;
    runs.push_back(run);
  }
  return runs;
}

void add_heat(ReportWriter& writer, const Evaluated& e, const UnitTable& table, const CallList& list) {
  const CostModel& model = table.model();
  static constexpr const char* kGroups[] = {"forward", "backward", "update"};  // by pass
  Texts phase_name, group;
  Integers ipu, cycles, repeats, function, resident_bytes, kept, keeps, phase, first, count, compute, exchange, memory;
  std::map<std::tuple<std::int32_t, std::int64_t, bool>, std::vector<TileRun>> known;
  std::int64_t number = 0;
  for (const Call& p : list.calls()) {
    const Function& f = e.program.functions[p.function];
    const Bytes resident = p.resident + p.held;
    auto [it, fresh] = known.try_emplace({p.function.index, resident.value, p.keeps});
    if (fresh) it->second = tile_runs(f, model, e.program.compute_tiles, model.machine().chip.tiles, resident, p.keeps);
    phase_name.push_back(p.name);
    group.push_back(kGroups[static_cast<std::size_t>(f.pass)]);
    ipu.push_back(p.ipu);
    cycles.push_back(model.function(f).total().value);
    repeats.push_back(p.repeats);
    function.push_back(p.function.index);
    resident_bytes.push_back(p.resident.value), kept.push_back(p.held.value), keeps.push_back(p.keeps);
    for (const TileRun& r : it->second) {
      phase.push_back(number), first.push_back(r.first), count.push_back(r.count);
      compute.push_back(r.compute), exchange.push_back(r.exchange), memory.push_back(r.memory);
    }
    ++number;
  }
  writer.add_texts("heat.phase", phase_name);
  writer.add_texts("heat.phase_group", group);
  writer.add_integers("heat.phase_ipu_class", "index", ipu);
  writer.add_integers("heat.phase_cycles", "cycles", cycles);
  writer.add_integers("heat.phase_repeats", "index", repeats);
  writer.add_integers("heat.phase_function", "index", function);
  writer.add_integers("heat.phase_resident", "bytes", resident_bytes);
  writer.add_integers("heat.phase_kept", "bytes", kept);
  writer.add_integers("heat.phase_keeps", "index", keeps);
  writer.add_integers("tile.phase", "index", phase);
  writer.add_integers("tile.first", "index", first);
  writer.add_integers("tile.count", "index", count);
  writer.add_integers("tile.compute_cycles", "cycles", compute);
  writer.add_integers("tile.exchange_bytes", "bytes", exchange);
  writer.add_integers("tile.memory_bytes", "bytes", memory);
}

}  // namespace

std::string_view text_of(StepKind kind) {
  static constexpr std::string_view kKinds[] = {"compute", "exchange", "collective", "copy",
                                                "load",    "store",    "host",       "fixed"};
  return kKinds[static_cast<std::size_t>(kind)];
}

void add_columns(ReportWriter& writer, report::Index& index, const Evaluated& e, const UnitTable& table,
                 const OptimizerSpec& optimizer) {
  const CallList calls(e.program, table.facts().graph);
  add_graph_columns(writer, e, table);
  add_steps(writer, index, e, table);
  add_heat(writer, e, table, calls);
  add_memory_columns(writer, e, table, optimizer, calls);
  add_streaming_columns(writer, e, table);
  for (std::size_t i = 0; i < e.program.ipus(); ++i) {
    const Transient& peak = e.timeline.transient[i];
    report::IpuClass* c = index.mutable_ipu_classes(static_cast<int>(i));
    c->set_peak_phase(peak.call);
    if (peak.step >= 0) c->set_peak_step(index.functions(peak.function.index).first_step() + peak.step);
  }
}

}  // namespace superstep
