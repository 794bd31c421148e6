// SPDX-License-Identifier: Apache-2.0
#include "planner/cell_bound.h"

#include <algorithm>

namespace superstep {
namespace {

// More temporary memory than any setting that is drawn has.
constexpr double kLoosestProportion = 0.6;

// Cycles of all units, forward and backward, in the cell's cheapest table.
std::int64_t work_of_micro_batch(Tables& tables, const Cell& c, bool split_activations) {
  TableKey key;
  key.mesh = c.mesh;
  key.micro_batch = c.micro_batch;
  key.replica_ipus = c.mesh.size() * c.stages;
  key.precision = tables.job().pins.precision;
  key.accumulate = c.accumulation > 1;
  key.split_activations = split_activations;
  const std::vector<double>& shares = tables.job().pins.available_memory_proportion;
  key.proportion = shares.empty() ? kLoosestProportion : *std::max_element(shares.begin(), shares.end());
  const UnitTable& t = tables.table(key);
  std::int64_t work = 0;
  for (std::size_t u = 0; u < t.units(); ++u)
    work += t.row(u).forward_cycles.total().value + t.row(u).backward_cycles.total().value;
  return work;
}

// Without phases all weights of a replica stand on its tiles, sharded at best over all replicas where that is pinned.
bool may_hold_at_once(Tables& tables, const Cell& c) {
  const Job& job = tables.job();
  const Pins& pins = job.pins;
  const bool one_phase = (pins.phase_count && *pins.phase_count == 1) || (pins.phases && pins.phases->size() == 1) ||
                         job.machine.streaming.capacity.value == 0 ||
                         (!pins.weights.empty() && std::all_of(pins.weights.begin(), pins.weights.end(),
                                                               [](Location l) { return l == Location::in_processor; }));
  if (!one_phase) return true;
  const GraphFacts& facts = tables.facts(c.micro_batch);
  std::int64_t bytes = 0;
  for (const auto& weights : facts.weights) {
    for (TensorId w : weights) bytes += facts.graph.info(w).bytes().value;
  }
  const std::int64_t shards = pins.rts_weights ? c.replicas : 1;
  return bytes / shards / c.mesh.size() / c.stages <= job.machine.chip_memory().value;
}

// The largest unit's weights, and their gradients in training, have to stand on the tiles at once, split over t at
// best.
bool may_hold_largest(Tables& tables, const Cell& c) {
  const GraphFacts& facts = tables.facts(c.micro_batch);
  std::int64_t largest = 0;
  for (const auto& weights : facts.weights) {
    std::int64_t bytes = 0;
    for (TensorId w : weights) bytes += facts.graph.info(w).bytes().value;
    largest = std::max(largest, bytes);
  }
  const std::int64_t per_weight = size_of(tables.job().pins.precision.weights) +
                                  (tables.training() ? size_of(tables.job().pins.precision.accumulators) : 0);
  return largest / size_of(tables.job().pins.precision.weights) * per_weight / c.mesh.size() <=
         tables.job().machine.chip_memory().value;
}

}  // namespace

// The work of one micro-batch spread evenly is the least any plan of the cell can take; every pipeline
// fills, so p - 1 shares more, but without their fixed costs: one stage after the other, or phases of fewer than p
// stages, do not have them. Tables with the loosest cap give the least work.
double cell_bound(Tables& tables, const Cell& c) {
  const std::vector<ActivationSharding>& pinned = tables.job().pins.activation_sharding;
  constexpr ActivationSharding kSplit = ActivationSharding::throughout;
  const auto split = std::count(pinned.begin(), pinned.end(), kSplit), all = std::ssize(pinned);
  std::int64_t work = INT64_MAX;
  if (all == 0 || split < all) work = work_of_micro_batch(tables, c, false);
  if (all == 0 ? c.mesh.size() > 1 : split > 0) work = std::min(work, work_of_micro_batch(tables, c, true));
  const double share = static_cast<double>(work) / static_cast<double>(c.stages);
  const auto fixed = static_cast<double>(tables.model().calibration().micro_batch_fixed.value);
  const double cycles =
      share * static_cast<double>(c.accumulation + c.stages - 1) + fixed * static_cast<double>(c.accumulation);
  const double samples = static_cast<double>(c.micro_batch * c.accumulation * c.replicas);
  return samples / (cycles / tables.job().machine.chip.clock.value);
}

bool may_hold(Tables& tables, const Cell& cell) {
  return may_hold_largest(tables, cell) && may_hold_at_once(tables, cell);
}

}  // namespace superstep
