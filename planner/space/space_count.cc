// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space_count.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "model/lower/serialise.h"
#include "planner/space/cut_count.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

constexpr double kMostPoints = 9223372036854774784.0;  // the largest double below 2^63

std::int64_t whole(double points) { return points > kMostPoints ? INT64_MAX : static_cast<std::int64_t>(points); }

// Counts the cuts of settings. Counts are kept by number of stages, as many settings share them.
class CutsOfSettings {
 public:
  CutsOfSettings(const Job& job, const Graph& graph) : counter_(job, graph) {}

  // Returns the number of cuts of each setting of a space, modes of recompute included.
  long double of(const SettingSpace& space) {
    const Plan& plan = space.common;
    if (space.phased) return phases(plan.pipeline_stages / plan.phase_groups);
    // There may be one stage more than IPU groups: the last stage then returns to IPU 0. Stages that work side by side
    // need enough micro-batches to fill and drain the pipeline.
    const bool fills = space.training && plan.schedule != Schedule::sequential;
    const std::int64_t most = plan.pipeline_stages + (plan.pipeline_stages > 1 ? 1 : 0);
    long double sum = 0;
    for (std::int64_t stages = plan.pipeline_stages; stages <= most; ++stages)
      if (plan.gradient_accumulation >= (fills ? 2 * stages - 1 : 1)) sum += pipelines(stages);
    return sum;
  }

 private:
  CutCounter counter_;
  std::map<std::int64_t, long double> pipelines_, phases_;

  long double pipelines(std::int64_t stages) {
    const auto [it, fresh] = pipelines_.try_emplace(stages);
    if (fresh) it->second = counter_.pipelines(stages);
    return it->second;
  }
  long double phases(std::int64_t depth) {
    const auto [it, fresh] = phases_.try_emplace(depth);
    if (fresh) it->second = counter_.phases(depth);
    return it->second;
  }
};

}  // namespace

SpaceCount count_space(const Job& job, const Graph& graph, std::int64_t statistics_group) {
  CutsOfSettings cuts(job, graph);
  std::optional<GraphFacts> facts;
  if (job.pins.serialisation != Serialisation{}) facts.emplace(graph);
  double points = 0;
  long double plans = 0;
  for (const Cell& cell : cells(job, statistics_group)) {
    for (const SettingSpace& space : setting_spaces(job, cell, false)) {
      points += space.size();
      if (!facts || check_serialisation(*facts, space.common).empty()) plans += space.size() * cuts.of(space);
    }
  }
  return {whole(points), static_cast<double>(std::log10(plans))};
}

SpaceCount operator+(const SpaceCount& a, const SpaceCount& b) {
  const auto [least, most] = std::minmax(a.log10_with_cuts, b.log10_with_cuts);
  const double sum = std::isfinite(most) ? most + std::log10(1 + std::pow(10, least - most)) : most;
  return {whole(static_cast<double>(a.points) + static_cast<double>(b.points)), sum};
}

}  // namespace superstep
