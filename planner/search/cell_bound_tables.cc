// SPDX-License-Identifier: Apache-2.0
// Bounds of cells by unit tables: which tables a bound needs, and what the tables say.
#include <algorithm>
#include <iterator>

#include "planner/search/cell_bound.h"

namespace superstep {

// Returns the tables that bound all tables of a cell's settings: one entry for activations split throughout, and one
// for all others. A looser bound on temporary memory and more compute tiles give no more work, so one table is the
// fastest. A tighter bound takes no more memory on the same tiles. On fewer tiles another tile plan is the fastest, and
// may take less memory: there is a leanest table for each number of IO tiles.
std::vector<CellBounds::ExtremeTables> CellBounds::extreme_tables_of(const Cell& c, Execution execution) const {
  TableKey key;
  key.mesh = c.mesh;
  key.micro_batch = c.micro_batch;
  key.rank_stride = c.strides().rank;
  key.replica_stride = c.strides().replica;
  key.precision = job_.pins.precision;
  key.serialisation = job_.pins.serialisation;
  key.accumulate = c.accumulation > 1;
  const Pins& pins = job_.pins;
  const auto [lowest, highest] = extreme_proportions(job_);
  if (!pins.stage_proportions.empty()) key.stage_bounds = stage_bounds(*pins.stages, pins.stage_proportions);
  std::vector<std::int64_t> io_tiles = {0};
  if (execution == Execution::phases) io_tiles = kIoTiles;
  if (pins.io_tiles && pins.io_tiles->values.empty()) io_tiles.push_back(pins.io_tiles->low);
  if (pins.io_tiles && !pins.io_tiles->values.empty()) io_tiles = pins.io_tiles->values;
  std::erase_if(io_tiles, [&](std::int64_t n) {
    return n >= job_.machine.chip.tiles || (pins.io_tiles && !pins.io_tiles->allows(n));
  });
  std::ranges::sort(io_tiles);
  const auto add = [&](bool split_activations, std::vector<ExtremeTables>& out) {
    key.split_activations = split_activations;
    ExtremeTables& extremes = out.emplace_back(ExtremeTables{key, {}});
    extremes.fastest.proportion = highest;
    if (key.stage_bounds.empty()) extremes.fastest.least_proportion = lowest;
    for (const std::int64_t io : io_tiles) {
      TableKey& lean = extremes.leanest.emplace_back(key);
      lean.proportion = lowest;
      lean.io_tiles = io;
    }
  };
  const std::vector<ActivationSharding>& pinned = pins.activation_sharding;
  const auto split = std::count(pinned.begin(), pinned.end(), ActivationSharding::throughout), all = std::ssize(pinned);
  std::vector<ExtremeTables> out;
  if (all == 0 || split < all) add(false, out);
  if (all == 0 ? c.mesh.size() > 1 : split > 0) add(true, out);
  return out;
}

std::vector<TableKey> CellBounds::tables_of(const Cell& cell, Execution execution, Step step) const {
  std::vector<TableKey> keys;
  for (const ExtremeTables& extremes : extreme_tables_of(cell, execution)) {
    if (step == Step::times) keys.push_back(extremes.fastest);
    const std::size_t lean =
        step == Step::room ? std::min<std::size_t>(1, extremes.leanest.size()) : extremes.leanest.size();
    if (step != Step::times) std::copy_n(extremes.leanest.begin(), lean, std::back_inserter(keys));
  }
  return keys;
}

CellBounds::Tabulated CellBounds::bound_of_step(const Cell& cell, Execution execution, Step step) {
  if (step == Step::times) return least_time(cell, execution);
  const bool fit = each_fits(tables_of(cell, execution, step), &Footprint::peak);
  return {fit || step != Step::all_room ? 0 : INT64_MAX, fit || step == Step::all_room};
}

// Step::times: a bound by the least time of each unit. No plan fits if a unit has no room for its live tensors.
CellBounds::Tabulated CellBounds::least_time(const Cell& cell, Execution execution) {
  const std::vector<TableKey> keys = tables_of(cell, execution, Step::times);
  if (!each_fits(keys, &Footprint::standing)) return {INT64_MAX, true};
  std::vector<PhaseNumbers> tables;
  for (const TableKey& key : keys) tables.push_back(tabulated_numbers(cell, execution, key));
  PhaseNumbers &m = tables[0], &other = tables.back();
  for (std::size_t u = 0; u < m.units.size(); ++u) {
    for (std::int64_t PhaseNumbers::Unit::*number :
         {&PhaseNumbers::Unit::resident, &PhaseNumbers::Unit::forward, &PhaseNumbers::Unit::backward,
          &PhaseNumbers::Unit::load, &PhaseNumbers::Unit::update, &PhaseNumbers::Unit::enter_forward})
      m.units[u].*number = std::min(m.units[u].*number, other.units[u].*number);
  }
  if (execution == Execution::phases) {
    return {least_phases(cell, m, equal_runs(m.units)), false};
  }
  return {least_pipeline(cell, m, pipeline_gather(cell, execution)), false};
}

PhaseNumbers CellBounds::tabulated_numbers(const Cell& c, Execution execution, const TableKey& fastest) {
  const UnitTable& table = tables_.table(fastest);
  const StorageRates& storage_rates = storage_rates_.at(c.replica_groups());
  PhaseNumbers m = empty_numbers(c);
  m.units.resize(table.units());
  for (std::size_t u = 0; u < table.units(); ++u) {
    const UnitRow& row = table.row(u);
    const std::int64_t gradients = gradient_bytes(row);
    m.units[u].resident = resident(table, u);
    m.units[u].forward = row.forward_cycles.total().value;
    if (training_) m.units[u].backward = (row.forward_cycles.total() + row.backward_cycles.total()).value;
    m.units[u].load = row.weight_bytes.value;
    m.units[u].update = static_cast<std::int64_t>(storage_rates.update * static_cast<double>(gradients));
    if (execution == Execution::phases) m.units[u].update += state_cycles(row.parameters, storage_rates);
    m.units[u].enter_forward = table.boundary(u).shard.value;
  }
  return m;
}

std::int64_t CellBounds::gradient_bytes(const UnitRow& row) const {
  return training_ ? row.parameters * size_of(job_.pins.precision.accumulators) : 0;
}

// Returns the bytes per tile of a unit's weights and gradients. The tiles have a place for both even where weights are
// gathered and gradients are kept elsewhere.
std::int64_t CellBounds::resident(const UnitTable& table, std::size_t unit) const {
  const UnitRow& row = table.row(unit);
  return row.weight_tile.value + gradient_bytes(row) / table.tiles();
}

// True if each unit fits on a tile by at least one of the tables. `memory`: the number of a footprint that counts, the
// larger of both passes.
bool CellBounds::each_fits(const std::vector<TableKey>& keys, Bytes Footprint::*memory) {
  const Chip& chip = job_.machine.chip;
  const std::int64_t room = (chip.tile_memory - chip.control_code).value;
  std::vector<const UnitTable*> tables;
  for (const TableKey& key : keys) tables.push_back(&tables_.table(key));
  for (std::size_t u = 0; !tables.empty() && u < tables[0]->units(); ++u) {
    const bool fits = std::ranges::any_of(tables, [&](const UnitTable* t) {
      const UnitRow& row = t->row(u);
      return resident(*t, u) + std::max(row.forward.*memory, row.backward.*memory).value <= room;
    });
    if (!fits) return false;
  }
  return true;
}

}  // namespace superstep
