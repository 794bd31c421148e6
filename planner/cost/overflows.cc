// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/overflows.h"

#include <algorithm>
#include <map>

#include "model/quantity_text.h"

namespace superstep {
namespace {

std::string sum_text(const std::vector<std::pair<std::string, Bytes>>& parts, Bytes limit) {
  std::string s;
  for (const auto& [name, bytes] : parts) {
    if (bytes.value > 0) s += (s.empty() ? "" : " + ") + name + " " + to_text(bytes);
  }
  return s + " of " + to_text(limit) + " per IPU";
}

// Sets the function, step and op of the fullest moment.
void add_moment(Overflow& o, const Program& program, const Transient& peak, const UnitTable& table) {
  const Function& f = program.functions[peak.function];
  o.during = f.name;
  o.step = peak.step;
  if (peak.step < 0 || peak.step >= static_cast<std::int64_t>(f.steps.size())) return;
  const std::int32_t op = f.steps[static_cast<std::size_t>(peak.step)].op;
  if (op < 0) return;
  const Graph& graph = table.facts().graph;
  const std::vector<OpId>& ops = graph.units[f.unit].ops[static_cast<std::size_t>(f.pass)];
  o.op = graph.ops[ops[static_cast<std::size_t>(op)]].def->name;
}

}  // namespace

std::vector<Overflow> find_overflows(const Program& program, const Timeline& timeline, const UnitTable& table) {
  const Machine& m = table.model().machine();
  struct Worst {
    double ratio = 1;
    Overflow overflow;
  };
  std::map<std::string, Worst> worst;
  auto consider = [&](const std::string& constraint, std::size_t ipu, Bytes used, Bytes limit, Bytes per_ipu_limit,
                      const std::vector<std::pair<std::string, Bytes>>& parts) {
    if (used <= limit) return;
    Worst& w = worst[constraint];
    const double ratio = limit.value == 0 ? 1e9 : used / limit;
    if (ratio <= w.ratio) return;
    w.ratio = ratio;
    const FunctionId at = timeline.transient[ipu].function;
    const std::string place =
        "IPU " + std::to_string(ipu) +
        (constraint == "tile memory" && at.valid() ? " during " + program.functions[at].name : "");
    w.overflow = Overflow{.constraint = constraint,
                          .where = place,
                          .over = used - limit,
                          .detail = sum_text(parts, per_ipu_limit),
                          .parts = parts,
                          .ipu = static_cast<std::int64_t>(ipu)};
    if (constraint == "tile memory" && at.valid()) add_moment(w.overflow, program, timeline.transient[ipu], table);
  };
  const std::int64_t tiles = program.compute_tiles, io_tiles = m.chip.tiles - tiles;
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    const Residents& r = timeline.residents[i];
    const Transient& t = timeline.transient[i];
    const StreamingUse& d = program.ddr[i];
    consider("tile memory", i, timeline.tile_peak(i), m.chip.tile_memory, m.chip_memory(),
             {{"weights", r.weights * tiles},
              {"gradients", r.gradients * tiles},
              {"optimizer state", r.optimizer_state * tiles},
              {"stash", r.stash * tiles},
              {"IO", r.io * tiles},
              {"lent to other IPUs", r.lent * tiles},
              {"code", r.executable() * tiles},
              {"activations", t.activations * tiles},
              {"temporaries", t.temporaries * tiles}});
    consider("executable tile memory", i, program.executable(i), m.chip.executable_memory,
             m.chip.executable_memory * m.chip.tiles, {{"code", program.executable(i) * tiles}});
    consider("Streaming Memory", i, d.total(), m.streaming_per_ipu(), m.streaming_per_ipu(),
             {{"stored activations", d.activations},
              {"weights", d.weights},
              {"gradients", d.gradients},
              {"optimizer state", d.optimizer_state},
              {"host", d.host},
              {"code", d.code}});
    if (program.preloaded.empty()) continue;
    const Preloaded& p = program.preloaded[i];
    consider("IO tile memory", i, share(p.total(), io_tiles), m.chip.tile_memory, m.chip.tile_memory * io_tiles,
             {{"preloaded weights", p.weights}, {"preloaded code", p.code}});
  }
  std::vector<Worst> sorted;
  for (auto& [name, w] : worst) sorted.push_back(std::move(w));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Worst& a, const Worst& b) { return a.ratio > b.ratio; });
  std::vector<Overflow> out;
  for (Worst& w : sorted) {
    if (w.ratio > 1) out.push_back(std::move(w.overflow));
  }
  return out;
}

}  // namespace superstep
