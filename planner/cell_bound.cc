// SPDX-License-Identifier: Apache-2.0
#include "planner/cell_bound.h"

#include <algorithm>
#include <limits>

#include "planner/phase_rest.h"

namespace superstep {
namespace {

// More temporary memory than any setting that is drawn has.
constexpr double kLoosestProportion = 0.6;

template <class E>
bool only(const std::vector<E>& pinned, E value) {
  return !pinned.empty() && std::all_of(pinned.begin(), pinned.end(), [&](E e) { return e == value; });
}

std::int64_t bytes_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::int64_t bytes = 0;
  for (TensorId t : tensors) bytes += graph.info(t).bytes().value;
  return bytes;
}

}  // namespace

CellBounds::CellBounds(Tables& tables) : tables_(tables), job_(tables.job()), training_(tables.training()) {
  const Pins& pins = job_.pins;
  const bool pinned = pins.phase_count || pins.phases;
  const bool one = (pins.phase_count && *pins.phase_count == 1) || (pins.phases && pins.phases->size() == 1);
  may_be_phased_ = !one && job_.machine.streaming.capacity.value > 0 && !only(pins.weights, Location::in_processor);
  may_be_one_phase_ = !pinned || one;
}

const std::vector<CellBounds::Unit>& CellBounds::units(std::int64_t micro_batch) {
  const auto [it, fresh] = units_.try_emplace(micro_batch);
  if (!fresh) return it->second;
  const GraphFacts& facts = tables_.facts(micro_batch);
  const Chip& chip = job_.machine.chip;
  const double flops_per_cycle =
      2.0 * static_cast<double>(std::max(chip.amp.fp16_16_macs_per_cycle, chip.amp.fp32_macs_per_cycle) * chip.tiles);
  for (std::size_t u = 0; u < facts.graph.units.size(); ++u) {
    Unit unit;
    unit.weights = bytes_of(facts.graph, facts.weights[u]);
    for (TensorId w : facts.weights[u]) {
      if (training_ && facts.trained(w))
        unit.gradients += facts.graph.info(w).elements() * size_of(job_.pins.precision.accumulators);
    }
    unit.boundary = bytes_of(facts.graph, facts.boundary[u]);
    unit.forward = product_flops(facts, UnitId(u), Pass::forward) / flops_per_cycle;
    if (training_) unit.backward = product_flops(facts, UnitId(u), Pass::backward) / flops_per_cycle;
    it->second.push_back(unit);
  }
  return it->second;
}

// The largest unit's weights, and their gradients in training, have to stand on the tiles at once, split over t at
// best.
bool CellBounds::holds_largest(const std::vector<Unit>& units, const Cell& cell) const {
  std::int64_t largest = 0;
  for (const Unit& u : units) largest = std::max(largest, u.weights + u.gradients);
  return largest / cell.mesh.size() <= job_.machine.chip_memory().value;
}

// Without phases all weights of a replica stand on its tiles, sharded at best over all replicas where that is pinned.
bool CellBounds::holds_all(const std::vector<Unit>& units, const Cell& cell) const {
  if (only(job_.pins.weights, Location::streaming)) return true;
  std::int64_t bytes = 0;
  for (const Unit& u : units) bytes += u.weights;
  const std::int64_t shards = job_.pins.rts_weights ? cell.replicas : 1;
  return bytes / shards / cell.mesh.size() / cell.stages <= job_.machine.chip_memory().value;
}

// Of a phase what is the same for all its units.
PhaseNumbers CellBounds::empty_numbers(const Cell& c) const {
  const Pins& pins = job_.pins;
  const bool outer = !only(pins.phase_order, PhaseOrder::micro_batch_outer);
  PhaseNumbers m;
  m.depth = c.stages;
  m.g = outer ? c.accumulation : 1;
  m.repeats = outer ? 1 : c.accumulation;
  m.micro_batch_fixed = tables_.model().calibration().micro_batch_fixed.value;
  m.held = c.stages * (job_.machine.chip.tile_memory - job_.machine.chip.control_code).value;
  m.moves_overlap = m.loads_overlap = true;
  m.training = training_;
  return m;
}

void CellBounds::add_moves(PhaseNumbers& numbers, std::size_t unit, std::int64_t bytes) const {
  const std::vector<Location>& at = job_.pins.activations;
  if (!may_be_phased_ || (!at.empty() && !only(at, Location::streaming))) return;
  const std::int64_t move = tables_.model().streaming(Bytes(bytes), Location::streaming, 1).value;
  PhaseNumbers::Unit& u = numbers.units[unit];
  u.enter_forward = u.leave_forward = u.leave_backward = move;
  u.enter_backward = unit > 0 ? 2 * move : move;
}

// Of weights on their way to one IPU, by the sharding degree for which it is least.
double CellBounds::load_cycles_per_byte(const Cell& c) const {
  const std::vector<Location>& at = job_.pins.weights;
  if (!at.empty() && !only(at, Location::streaming)) return 0;
  const CostModel& model = tables_.model();
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t degree = 1; degree <= c.replicas; ++degree) {
    if (c.replicas % degree != 0) continue;
    const GroupShape group{degree, c.mesh.size() * c.stages};
    const std::int64_t gather = model.collective(CollectiveKind::all_gather, group, Bytes(2 * kMuch)).value -
                                model.collective(CollectiveKind::all_gather, group, Bytes(kMuch)).value;
    const std::int64_t read = model.streaming(Bytes(kMuch / degree), Location::streaming, 1).value;
    least = std::min(least, static_cast<double>(gather + read) / static_cast<double>(kMuch));
  }
  return least;
}

double CellBounds::quick(const Cell& cell) {
  const std::vector<Unit>& list = units(cell.micro_batch);
  if (!holds_largest(list, cell)) return 0;
  const std::int64_t t = cell.mesh.size(), tiles = job_.machine.chip.tiles;
  const double load = may_be_phased_ ? load_cycles_per_byte(cell) : 0;
  PhaseNumbers m = empty_numbers(cell);
  m.units.resize(list.size());
  for (std::size_t u = 0; u < list.size(); ++u) {
    m.units[u].resident = (list[u].weights + list[u].gradients) / t / tiles;
    m.units[u].forward = static_cast<std::int64_t>(list[u].forward) / t;
    if (training_) m.units[u].backward = static_cast<std::int64_t>(list[u].forward + list[u].backward) / t;
    m.units[u].load = static_cast<std::int64_t>(load * static_cast<double>(list[u].weights / t));
    add_moves(m, u, list[u].boundary / t);
  }
  return rate(cell, m, may_be_one_phase_ && holds_all(list, cell));
}

double CellBounds::tabulated(const Cell& cell) {
  const std::vector<ActivationSharding>& pinned = job_.pins.activation_sharding;
  constexpr ActivationSharding kSplit = ActivationSharding::throughout;
  const auto split = std::count(pinned.begin(), pinned.end(), kSplit), all = std::ssize(pinned);
  std::vector<PhaseNumbers> tables;
  if (all == 0 || split < all) tables.push_back(tabulated_numbers(cell, false));
  if (all == 0 ? cell.mesh.size() > 1 : split > 0) tables.push_back(tabulated_numbers(cell, true));
  PhaseNumbers& m = tables[0];
  for (std::size_t u = 0; u < m.units.size(); ++u) {
    for (std::int64_t PhaseNumbers::Unit::*number :
         {&PhaseNumbers::Unit::resident, &PhaseNumbers::Unit::forward, &PhaseNumbers::Unit::backward,
          &PhaseNumbers::Unit::load, &PhaseNumbers::Unit::enter_forward, &PhaseNumbers::Unit::enter_backward,
          &PhaseNumbers::Unit::leave_forward, &PhaseNumbers::Unit::leave_backward})
      m.units[u].*number = std::min(m.units[u].*number, tables.back().units[u].*number);
  }
  return rate(cell, m, may_be_one_phase_ && holds_all(units_.at(cell.micro_batch), cell));
}

// Tables with the loosest cap give the least work; what they need beside weights and gradients may be less with others.
PhaseNumbers CellBounds::tabulated_numbers(const Cell& c, bool split_activations) {
  TableKey key;
  key.mesh = c.mesh;
  key.micro_batch = c.micro_batch;
  key.replica_ipus = c.mesh.size() * c.stages;
  key.precision = job_.pins.precision;
  key.accumulate = c.accumulation > 1;
  key.split_activations = split_activations;
  const std::vector<double>& shares = job_.pins.available_memory_proportion;
  key.proportion = shares.empty() ? kLoosestProportion : *std::max_element(shares.begin(), shares.end());
  const UnitTable& table = tables_.table(key);
  const double load = may_be_phased_ ? load_cycles_per_byte(c) : 0;
  PhaseNumbers m = empty_numbers(c);
  m.units.resize(table.units());
  for (std::size_t u = 0; u < table.units(); ++u) {
    const UnitRow& row = table.row(u);
    const std::int64_t gradients = training_ ? row.parameters * size_of(key.precision.accumulators) : 0;
    m.units[u].resident = row.weight_tile.value + gradients / table.tiles();
    m.units[u].forward = row.forward_cycles.total().value;
    if (training_) m.units[u].backward = (row.forward_cycles.total() + row.backward_cycles.total()).value;
    m.units[u].load = static_cast<std::int64_t>(load * static_cast<double>(row.weight_bytes.value));
    add_moves(m, u, table.boundary(u).shard.value);
  }
  return m;
}

// One phase: the work of one micro-batch spread evenly over the stages, and every pipeline fills; but without its fixed
// costs, which one stage after the other does not have.
double CellBounds::rate(const Cell& c, const PhaseNumbers& numbers, bool one_phase) const {
  std::int64_t least = may_be_phased_ ? PhaseRest(numbers).least() : INT64_MAX;
  if (one_phase) {
    std::int64_t work = 0;
    for (const PhaseNumbers::Unit& u : numbers.units) work += training_ ? u.backward : u.forward;
    least = std::min(least,
                     (c.accumulation + c.stages - 1) * (work / c.stages) + c.accumulation * numbers.micro_batch_fixed);
  }
  if (least == INT64_MAX) return 0;
  const double samples = static_cast<double>(c.micro_batch * c.accumulation * c.replicas);
  return samples / (static_cast<double>(std::max<std::int64_t>(1, least)) / job_.machine.chip.clock.value);
}

}  // namespace superstep
