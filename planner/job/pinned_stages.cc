// SPDX-License-Identifier: Apache-2.0
#include "planner/job/pinned_stages.h"

#include <algorithm>
#include <numeric>

#include "model/error.h"

namespace superstep {

std::vector<std::int64_t> pinned_stages(const Job& job, const Graph& graph) {
  if (job.pins.stages) return *job.pins.stages;
  if (!job.pins.layers_per_stage) return {};
  // Stages take layers in order. Units before the first layer go with the first stage, units behind the last layer with
  // the last stage. A stage of no layers holds the units at its place: the embedding in front, the head at the end.
  std::vector<std::int64_t> first_unit;  // of each layer
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const std::int64_t layer = graph.units[UnitId(u)].layer;
    if (layer >= 0 && (u == 0 || graph.units[UnitId(u - 1)].layer != layer))
      first_unit.push_back(static_cast<std::int64_t>(u));
  }
  const std::string place = job.source + "#/plan/layers_per_stage";
  std::vector<std::int64_t> counts = *job.pins.layers_per_stage;
  const auto layers = static_cast<std::int64_t>(first_unit.size());
  std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (const auto rest = std::ranges::find(counts, kRestOfLayers); rest != counts.end()) {
    *rest = layers - (sum - kRestOfLayers);
    if (*rest < 0)
      throw Error(place, "found " + std::to_string(sum - kRestOfLayers) +
                             " layers without the rest, expected at most " + "the model's " + std::to_string(layers));
    sum = layers;
  }
  if (sum != layers)
    throw Error(place,
                "found " + std::to_string(sum) + " layers in all, expected the model's " + std::to_string(layers));
  std::int64_t tail = static_cast<std::int64_t>(graph.units.size());
  for (std::size_t u = graph.units.size(); u-- > 0 && graph.units[UnitId(u)].layer < 0;)
    tail = static_cast<std::int64_t>(u);
  std::vector<std::int64_t> stages = {0};
  std::int64_t done = counts[0];
  for (std::size_t s = 1; s < counts.size(); ++s) {
    stages.push_back(done < layers ? first_unit[static_cast<std::size_t>(done)] : tail);
    done += counts[s];
  }
  for (std::size_t s = 1; s < stages.size(); ++s) {
    if (stages[s] <= stages[s - 1])
      throw Error(place + "/" + std::to_string(s), "found a stage that would hold nothing");
  }
  return stages;
}

void resolve_stage_bounds(Job& job) {
  Pins& pins = job.pins;
  if (pins.stage_proportions.empty()) return;
  if (!pins.stages && pins.layers_per_stage) pins.stages = pinned_stages(job, build_graph(job, some_micro_batch(job)));
  const auto bounds = std::ssize(pins.stage_proportions);
  if (pins.stages && std::ssize(*pins.stages) == bounds + 1 && pins.pipeline_stages &&
      pins.pipeline_stages->allows(bounds))
    pins.stage_proportions.push_back(pins.stage_proportions.front());
}

}  // namespace superstep
