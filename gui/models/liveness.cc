// SPDX-License-Identifier: Apache-2.0
#include "gui/models/liveness.h"

#include <algorithm>
#include <map>
#include <set>

#include "gui/base/theme.h"
#include "gui/models/operations.h"
#include "gui/models/steps.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

// Categories by bytes that stand in each phase of the IPU class.
void add_stands(Liveness& out, const HeatData& heat, const Variables& variables) {
  if (!variables.have_lifetimes()) return;
  std::set<std::pair<int, std::string>> found;
  for (std::size_t v = 0; v < variables.name.size(); ++v) {
    if (variables.ipu_class[v] == out.ipu_class)
      found.insert({memory_order(variables.category[v]), variables.category[v]});
  }
  std::map<std::string, std::size_t> place;
  for (const auto& [order, category] : found) {
    place[category] = out.categories.size();
    out.categories.push_back(category);
  }
  const auto rows = static_cast<std::int64_t>(heat.phases.size());
  out.stands.resize(heat.phases.size());
  for (const int phase : heat.phases_of(out.ipu_class))
    out.stands[static_cast<std::size_t>(phase)].resize(out.categories.size());
  for (std::size_t v = 0; v < variables.name.size(); ++v) {
    if (variables.ipu_class[v] != out.ipu_class) continue;
    const std::size_t category = place[variables.category[v]];
    const std::int64_t last = std::min(variables.last_phase[v], rows - 1);
    for (std::int64_t p = std::max<std::int64_t>(0, variables.first_phase[v]); p <= last; ++p) {
      auto& of_phase = out.stands[static_cast<std::size_t>(p)];
      if (!of_phase.empty()) of_phase[category] += variables.bytes_per_tile[v];
    }
  }
}

// A step's bytes on the tile: none where it takes no part.
std::int64_t live_of(const Steps& steps, std::int64_t row, bool keeps, std::int64_t tile) {
  const auto s = static_cast<std::size_t>(row);
  if (tile >= 0 && !steps.tiles.empty() && steps.tiles[s] > 0 && tile >= steps.tiles[s]) return 0;
  return steps.live_bytes[s] + (keeps && !steps.keeping_bytes.empty() ? steps.keeping_bytes[s] : 0);
}

void add_phase(Liveness& out, const report::Index& index, const Steps& steps, const HeatData& heat, int phase,
               int function) {
  const HeatPhase& p = heat.phases[static_cast<std::size_t>(phase)];
  const TileRun* run = out.tile < 0 ? nullptr : heat.run_at(phase, out.tile);
  const std::int64_t highest = out.tile < 0 ? heat.largest(phase, HeatQuantity::memory) : run ? run->memory_bytes : 0;
  const auto [first, end] = steps_of_function(index, steps, function);
  if (first == end) {
    out.points.push_back({phase, -1, highest, 0});
    return;
  }
  std::vector<std::int64_t> live;
  for (std::int64_t s = first; s < end; ++s) live.push_back(live_of(steps, s, p.keeps, out.tile));
  // A phase is as high as its highest superstep on top of what stands there.
  const std::int64_t below = highest - *std::max_element(live.begin(), live.end());
  const std::int64_t resident = out.tile < 0 && p.resident_bytes >= 0 ? p.resident_bytes + p.kept_bytes : below;
  for (std::int64_t s = first; s < end; ++s) {
    const std::int64_t bytes = live[static_cast<std::size_t>(s - first)];
    const bool known = !steps.temporary_bytes.empty() && bytes > 0;
    out.points.push_back({phase, s, resident, bytes, known ? steps.temporary_bytes[static_cast<std::size_t>(s)] : -1});
  }
}

}  // namespace

std::pair<std::int64_t, std::int64_t> steps_of_function(const report::Index& index, const Steps& steps, int function) {
  if (function < 0) return {0, 0};
  return steps_of(index.functions(function), steps);
}

std::int64_t Liveness::kept(int point) const {
  return std::max<std::int64_t>(0, points[static_cast<std::size_t>(point)].resident_bytes - always_live);
}

const std::vector<std::int64_t>* Liveness::stands_at(int point) const {
  const auto phase = static_cast<std::size_t>(points[static_cast<std::size_t>(point)].phase);
  return phase < stands.size() && !stands[phase].empty() ? &stands[phase] : nullptr;
}

Liveness liveness_of(const report::Index& index, const Steps& steps, const HeatData& heat, int ipu_class,
                     const Variables* variables, std::int64_t tile) {
  Liveness out;
  if (ipu_class < 0 || ipu_class >= index.ipu_classes_size()) return out;
  out.ipu_class = ipu_class;
  out.tile = tile;
  out.always_live = always_live_bytes(index.ipu_classes(ipu_class));
  out.limit = index.ipu_classes(ipu_class).tile_limit_bytes();
  const std::vector<int> functions = phase_functions(index, heat);
  for (const int phase : heat.phases_of(ipu_class))
    add_phase(out, index, steps, heat, phase, functions[static_cast<std::size_t>(phase)]);
  if (variables && tile < 0) add_stands(out, heat, *variables);
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    if (out.peak < 0 || out.points[i].total() > out.points[static_cast<std::size_t>(out.peak)].total()) {
      out.peak = static_cast<int>(i);
    }
  }
  return out;
}

}  // namespace superstep::gui
