// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/heat_pyramid.h"

#include <algorithm>
#include <limits>

namespace superstep::gui {
namespace {

using Run = HeatPyramid::Run;

Run run_of(std::int64_t first, std::int64_t count, std::int64_t value) {
  return {value, static_cast<std::int32_t>(first), static_cast<std::int32_t>(count)};
}

void append(std::vector<Run>& out, std::size_t begin, const Run& run) {
  if (out.size() > begin && out.back().first + out.back().count == run.first && out.back().value == run.value) {
    out.back().count += run.count;
  } else {
    out.push_back(run);
  }
}

// The largest of two lists of disjoint runs in order, where either has a value.
void merge(std::vector<Run>& out, std::span<const Run> a, std::span<const Run> b) {
  constexpr std::int64_t kNone = -1, kFar = std::numeric_limits<std::int64_t>::max();
  const std::size_t begin = out.size();
  const auto end_of = [](const Run& run) { return std::int64_t{run.first} + run.count; };
  std::int64_t at = 0;
  while (!a.empty() || !b.empty()) {
    std::int64_t next = kFar, value = kNone;
    for (std::span<const Run>* list : {&a, &b}) {
      if (list->empty()) continue;
      const Run& run = list->front();
      if (run.first > at) {
        next = std::min<std::int64_t>(next, run.first);
      } else {
        next = std::min(next, end_of(run));
        value = std::max(value, run.value);
      }
    }
    if (value != kNone) append(out, begin, run_of(at, next - at, value));
    at = next;
    for (std::span<const Run>* list : {&a, &b}) {
      if (!list->empty() && end_of(list->front()) <= at) *list = list->subspan(1);
    }
  }
}

void close(HeatPyramid::Level& level) {
  std::int64_t most = 0;
  for (std::size_t i = level.begin.back(); i < level.runs.size(); ++i) most = std::max(most, level.runs[i].value);
  level.largest.push_back(most);
  level.begin.push_back(level.runs.size());
}

}  // namespace

int HeatPyramid::level_for(double columns) const {
  int level = 0;
  for (double size = 2; size <= columns && level + 1 < static_cast<int>(levels.size()); size *= 2) ++level;
  return level;
}

HeatPyramid HeatPyramid::of(const HeatData& data, std::span<const int> phases, HeatQuantity quantity) {
  HeatPyramid out;
  const auto read = [&](int column, std::vector<Run>& into) {
    into.clear();
    if (column >= static_cast<int>(phases.size())) return;
    const HeatPhase& phase = data.phases[static_cast<std::size_t>(phases[static_cast<std::size_t>(column)])];
    for (std::size_t r = phase.first_run; r < phase.first_run + phase.runs; ++r) {
      const TileRun& run = data.runs[r];
      append(into, 0, run_of(run.first, run.count, value_of(phase, run, quantity)));
    }
  };
  Level& first = out.levels.emplace_back();
  for (const int phase : phases) first.largest.push_back(data.largest(phase, quantity));
  std::vector<Run> a, b;
  while (out.levels.back().groups() > 1) {
    const Level& below = out.levels.back();
    const bool of_phases = out.levels.size() == 1;
    Level level;
    level.begin = {0};
    for (int g = 0; g < below.groups(); g += 2) {
      if (of_phases) {
        read(g, a), read(g + 1, b);
        merge(level.runs, a, b);
      } else {
        merge(level.runs, below.group(g), g + 1 < below.groups() ? below.group(g + 1) : std::span<const Run>());
      }
      close(level);
    }
    level.runs.shrink_to_fit();
    out.levels.push_back(std::move(level));
  }
  return out;
}

}  // namespace superstep::gui
