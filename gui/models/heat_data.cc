// SPDX-License-Identifier: Apache-2.0
#include "gui/models/heat_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/damaged.h"

namespace superstep::gui {
namespace {

void load_memory(const ReportFile& report, std::vector<HeatPhase>& phases) {
  if (!report.has_column("heat.phase_function")) return;
  const auto functions = report.column_integers("heat.phase_function");
  const auto resident = report.column_integers("heat.phase_resident"), kept = report.column_integers("heat.phase_kept");
  const auto keeps = report.column_integers("heat.phase_keeps");
  const std::size_t n = phases.size();
  check_rows(report, "heat.*", n, functions, resident, kept, keeps);
  for (std::size_t i = 0; i < n; ++i) {
    if (functions[i] < -1 || functions[i] >= report.index().functions_size()) {
      damaged(report, "phase \"" + phases[i].name + "\" runs function " + std::to_string(functions[i]) + " of " +
                          std::to_string(report.index().functions_size()));
    }
    phases[i].function = static_cast<int>(functions[i]);
    if (functions[i] >= 0) {
      const auto& function = report.index().functions(phases[i].function);
      if (function.has_relative_error()) phases[i].error = function.relative_error();
    }
    phases[i].resident_bytes = resident[i], phases[i].kept_bytes = kept[i], phases[i].keeps = keeps[i] != 0;
  }
}

std::vector<HeatPhase> load_phases(const ReportFile& report) {
  const TextColumn names = report.column_texts("heat.phase");
  const auto classes = report.column_integers("heat.phase_ipu_class");
  const auto cycles = report.column_integers("heat.phase_cycles");
  const auto repeats = report.column_integers("heat.phase_repeats");
  TextColumn groups;
  if (report.has_column("heat.phase_group")) groups = report.column_texts("heat.phase_group");
  const std::size_t n = names.size();
  check_rows(report, "heat.*", n, classes, cycles, repeats);
  if (groups.size() != 0) check_rows(report, "heat.*", n, groups);
  std::vector<HeatPhase> phases(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (classes[i] < 0 || classes[i] >= report.index().ipu_classes_size()) {
      damaged(report, "phase \"" + names[i] + "\" is on IPU class " + std::to_string(classes[i]) + " of " +
                          std::to_string(report.index().ipu_classes_size()));
    }
    phases[i].name = names[i];
    if (groups.size() == n) phases[i].group = groups[i];
    phases[i].ipu_class = static_cast<int>(classes[i]);
    phases[i].cycles = cycles[i], phases[i].repeats = repeats[i];
  }
  load_memory(report, phases);
  return phases;
}

struct RunColumns {
  std::vector<std::int64_t> phase, first, count, compute, exchange, memory;

  explicit RunColumns(const ReportFile& report)
      : phase(report.column_integers("tile.phase")),
        first(report.column_integers("tile.first")),
        count(report.column_integers("tile.count")),
        compute(report.column_integers("tile.compute_cycles")),
        exchange(report.column_integers("tile.exchange_bytes")),
        memory(report.column_integers("tile.memory_bytes")) {
    check_rows(report, "tile.*", phase.size(), first, count, compute, exchange, memory);
  }
  TileRun run(std::size_t i) const { return {first[i], count[i], memory[i], compute[i], exchange[i]}; }
};

}  // namespace

std::int64_t value_of(const HeatPhase& phase, const TileRun& run, HeatQuantity quantity) {
  if (quantity == HeatQuantity::error) return phase.error < 0 ? 0 : std::llround(phase.error * 1e6);
  if (quantity == HeatQuantity::memory) return run.memory_bytes;
  if (quantity == HeatQuantity::idle) return run.idle_cycles;
  return quantity == HeatQuantity::compute ? run.compute_cycles : run.exchange_bytes;
}

bool counts_cycles(HeatQuantity quantity) {
  return quantity == HeatQuantity::compute || quantity == HeatQuantity::idle;
}

bool HeatData::has_errors() const {
  return std::any_of(phases.begin(), phases.end(), [](const HeatPhase& phase) { return phase.error >= 0; });
}

const TileRun* HeatData::run_at(int phase, std::int64_t tile) const {
  if (phase < 0 || phase >= static_cast<int>(phases.size())) return nullptr;
  const HeatPhase& p = phases[static_cast<std::size_t>(phase)];
  const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(p.first_run);
  auto at = std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(p.runs), tile,
                             [](std::int64_t t, const TileRun& run) { return t < run.first; });
  if (at == begin) return nullptr;
  --at;
  return tile < at->first + at->count ? &*at : nullptr;
}

std::vector<int> HeatData::phases_of(int ipu_class) const {
  std::vector<int> out;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (ipu_class < 0 || phases[i].ipu_class == ipu_class) out.push_back(static_cast<int>(i));
  }
  return out;
}

std::int64_t HeatData::largest(int phase, HeatQuantity quantity) const {
  const HeatPhase& p = phases[static_cast<std::size_t>(phase)];
  std::int64_t most = 0;
  for (std::size_t i = p.first_run; i < p.first_run + p.runs; ++i)
    most = std::max(most, value_of(p, runs[i], quantity));
  return most;
}

std::int64_t active_tiles(const HeatData& heat, int phase) {
  const HeatPhase& p = heat.phases[static_cast<std::size_t>(phase)];
  std::int64_t out = 0;
  for (std::size_t i = p.first_run; i < p.first_run + p.runs; ++i) {
    if (heat.runs[i].compute_cycles > 0) out += heat.runs[i].count;
  }
  return out;
}

HeatData load_heat(const ReportFile& report) {
  HeatData out;
  if (!report.has_column("heat.phase")) return out;
  out.tiles = report.index().tiles_per_ipu();
  if (out.tiles <= 0 || out.tiles > (std::int64_t{1} << 40)) {
    damaged(report, std::to_string(out.tiles) + " tiles per IPU");
  }
  out.phases = load_phases(report);
  const RunColumns columns(report);
  std::vector<std::size_t> order(columns.phase.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(columns.phase[a], columns.first[a]) < std::pair(columns.phase[b], columns.first[b]);
  });
  out.runs.reserve(order.size());
  std::int64_t previous_phase = -1;
  std::int64_t free_from = 0;  // the tile after the last run of the phase
  for (const std::size_t i : order) {
    const TileRun run = columns.run(i);
    const std::int64_t phase = columns.phase[i];
    if (phase < 0 || phase >= static_cast<std::int64_t>(out.phases.size())) {
      damaged(report, "tiles of phase " + std::to_string(phase) + " of " + std::to_string(out.phases.size()));
    }
    HeatPhase& p = out.phases[static_cast<std::size_t>(phase)];
    if (phase != previous_phase) {
      free_from = 0;
      p.first_run = out.runs.size();
    }
    if (run.first < free_from || run.count < 1 || run.count > out.tiles - run.first || run.first > out.tiles) {
      damaged(report, "tiles " + std::to_string(run.first) + " and " + std::to_string(run.count) + " more in phase \"" +
                          p.name + "\" overlap or do not exist");
    }
    free_from = run.first + run.count;
    previous_phase = phase;
    ++p.runs;
    out.runs.push_back(run);
    out.runs.back().idle_cycles = std::max<std::int64_t>(0, p.cycles - run.compute_cycles);
  }
  return out;
}

}  // namespace superstep::gui
