// SPDX-License-Identifier: Apache-2.0
#include "planner/search/cell_bound.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "model/lower/placement.h"
#include "model/lower/serialise.h"
#include "model/lower/unit_memory.h"
#include "model/parallel.h"
#include "planner/cuts/phase_rest.h"
#include "planner/job/divisors.h"

namespace superstep {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

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

CellBounds::CellBounds(Tables& tables)
    : tables_(tables),
      job_(tables.job()),
      training_(tables.training()),
      state_bytes_(state_bytes_per_parameter(job_.optimizer)) {
  may_be_phased_ = may_be_phased(job_);
}

void CellBounds::prepare(const std::vector<Cell>& cells, int threads, bool all_graphs) {
  std::set<std::int64_t> sizes;
  for (const Cell& cell : cells) {
    sizes.insert(cell.micro_batch);
    const auto [it, fresh] = storage_rates_.try_emplace(cell.replica_groups());
    if (fresh) it->second = storage_rates(cell);
  }
  const std::vector<std::int64_t> micro_batches(sizes.begin(), sizes.end());
  // Imported graphs may be cut into other units at another micro-batch.
  const bool serialises = job_.pins.serialisation != Serialisation{};
  const bool grow = job_.model.zoo && !all_graphs && !serialises;
  std::vector<Units> made(grow ? std::min<std::size_t>(2, micro_batches.size()) : micro_batches.size());
  parallel_for(made.size() + 1, threads, [&](std::size_t i) {
    if (i < made.size())
      made[i] = units(micro_batches[i]);
    else
      dominated_ = find_dominated(cells);  // while another thread makes the last graph
  });
  for (std::size_t i = made.size(); i < micro_batches.size(); ++i)
    units_.emplace(micro_batches[i], grown(made[0], made[1], micro_batches[0], micro_batches[1], micro_batches[i]));
  for (std::size_t i = 0; i < made.size(); ++i) units_.emplace(micro_batches[i], std::move(made[i]));
  weights_ = 0;
  for (const Unit& u : units_.begin()->second.list) weights_ += u.weights;
  if (serialises) find_not_serialised(cells);
}

void CellBounds::find_not_serialised(const std::vector<Cell>& cells) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Cell& cell : cells) {
    const std::pair at{cell.micro_batch, cell.mesh.size()};
    if (!seen.insert(at).second) continue;
    Plan plan = cell.plan();
    plan.serialisation = job_.pins.serialisation;
    if (!check_serialisation(tables_.facts(cell.micro_batch), plan).empty()) not_serialised_.insert(at);
  }
}

// Extrapolates the units of a larger micro-batch from two smaller micro-batches. Each tensor and each product grows by
// the same amount per sample. Memory live at once is a maximum of sums of tensors: it grows at least as fast as between
// the smaller two. So the result is a lower bound.
CellBounds::Units CellBounds::grown(const Units& few, const Units& more, std::int64_t few_samples,
                                    std::int64_t more_samples, std::int64_t samples) {
  std::vector<Unit> out = more.list;
  for (std::size_t u = 0; u < out.size(); ++u) {
    const auto grow = [&](auto Unit::*number) {
      const auto step = more.list[u].*number - few.list[u].*number;
      out[u].*number += step * (samples - more_samples) / (more_samples - few_samples);
    };
    grow(&Unit::boundary), grow(&Unit::standing);
    grow(&Unit::forward), grow(&Unit::backward);
  }
  return {std::move(out)};
}

CellBounds::Units CellBounds::units(std::int64_t micro_batch) const {
  const GraphFacts& facts = tables_.facts(micro_batch);
  const std::vector<Tables::Flops>& flops = tables_.flops(micro_batch);
  const Chip& chip = job_.machine.chip;
  std::vector<Unit> out;
  std::map<std::uint64_t, std::int64_t> standing;  // bytes, by signature of the unit
  const auto bytes_on_ipu = [&](TensorId t) { return facts.graph.info(t).bytes(); };
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
    const auto [known, fresh] = standing.try_emplace(facts.signatures[u]);
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      if (fresh) known->second = std::max(known->second, standing_alone(facts, UnitId(u), pass, bytes_on_ipu).value);
    }
    unit.standing = known->second;
    unit.forward = flops[u].forward / flops_per_cycle;
    unit.backward = flops[u].backward / flops_per_cycle;
    out.push_back(unit);
  }
  return {std::move(out)};
}

// True if each unit fits on the tiles of a mesh of `ipus`. The weights of a unit, their gradients in training,
// and the live tensors are there at once, at best split evenly.
bool CellBounds::may_fit(const std::vector<Unit>& units, std::int64_t ipus) const {
  const Chip& chip = job_.machine.chip;
  const std::int64_t room = (chip.tile_memory - chip.control_code).value;
  return std::ranges::all_of(
      units, [&](const Unit& u) { return (u.weights + u.gradients + u.standing) / chip.tiles / ipus <= room; });
}

// Returns the least cycles that all stages of a pipeline take to gather weights for a micro-batch; kNever: no plan
// fits. Without phases the tiles of a replica hold its weights, or a shard of them, unless weights are pinned
// elsewhere. Shards of other replicas are gathered for each pass.
double CellBounds::pipeline_gather(const Cell& cell, Execution execution) const {
  const auto of_ipu = static_cast<double>(weights_) / static_cast<double>(cell.mesh.size() * cell.stages);
  const bool stand = job_.pins.weights.empty() || only(job_.pins.weights, Location::in_processor);
  const double degree = stand ? of_ipu / static_cast<double>(job_.machine.chip_memory().value) : 0;
  if (execution == Execution::pipeline) return degree <= 1 ? 0 : kNever;
  const ShardCosts& costs = shard_costs(cell);
  double least = kNever;
  for (std::int64_t d : divisors(cell.replicas)) {
    if (d == 1 || static_cast<double>(d) < degree || !allows(job_.pins.rts_weights, d)) continue;
    least = std::min(least, costs.gather(costs.of(d)).per_byte);
  }
  return (training_ ? 2 : 1) * least * static_cast<double>(weights_) / static_cast<double>(cell.mesh.size());
}

// Returns phase numbers without units: the fields that depend on the cell alone.
PhaseNumbers CellBounds::empty_numbers(const Cell& c) const {
  PhaseNumbers m;
  m.depth = c.stages;
  const Calibration& fitted = tables_.model().calibration();
  m.pass_fixed = (fitted.micro_batch_fixed + fitted.pass_fixed(training_)).value;
  m.held = c.stages * (job_.machine.chip.tile_memory - job_.machine.chip.control_code).value;
  m.moves_overlap = m.loads_overlap = true;
  m.training = training_;
  return m;
}

// Returns the bytes per second of the fastest place outside of the processor that a pin leaves to phases; 0: there is
// no such place. `uses_remote_tile`: true for other IPUs' tiles, false for all other places.
double CellBounds::rate(const std::vector<Location>& pinned, const Cell& cell, bool uses_remote_tile) const {
  const Plan plan = cell.plan();
  double fastest = 0;
  for (const Location at : {Location::streaming, Location::remote_machine, Location::remote_ipu}) {
    if ((at == Location::remote_ipu) != uses_remote_tile || !has_lender(plan, at, job_.machine)) continue;
    if (!pinned.empty() && std::find(pinned.begin(), pinned.end(), at) == pinned.end()) continue;
    const std::int64_t stride = lender_stride(plan, at, job_.machine.ipus_per_machine);
    fastest = std::max(fastest, tables_.model().streaming_rate(at, stride).value);
  }
  return fastest;
}

CellBounds::StorageRates CellBounds::storage_rates(const Cell& c) const {
  StorageRates out;
  if (training_) out.update = cheapest_update(c);
  if (!may_be_phased_) return out;
  const double clock = job_.machine.chip.clock.value;
  // Rates of boundaries that do not stay on the tiles.
  std::vector<Location> stash = job_.pins.activations;
  std::replace(stash.begin(), stash.end(), Location::in_processor, Location::streaming);
  for (const bool weights_on_remote_tile : {false, true}) {
    const double loads = rate(job_.pins.weights, c, weights_on_remote_tile);
    if (loads == 0) continue;
    for (const bool boundaries_on_remote_tile : {false, true}) {
      const double moves = rate(stash, c, boundaries_on_remote_tile);
      if (moves > 0)
        out.phases.push_back(
            {clock / moves, cheapest_load(c, loads), boundaries_on_remote_tile, weights_on_remote_tile});
    }
  }
  // With a free degree a state has so many shards that its transfer decides nothing, so the transfer is not counted.
  // Counting would only exclude some cells before their tables are made, and later questions would lack these tables.
  if (!training_ || !job_.pins.rts_optimizer_state) return out;
  out.state_rate = std::max(rate(job_.pins.optimizer_state, c, false), rate(job_.pins.optimizer_state, c, true));
  if (out.state_rate > 0) out.state_degree = largest_degree(job_.pins.rts_optimizer_state, c);
  return out;
}

// Returns the largest sharding degree that a pin and the replicas allow; 1: no degree is allowed.
std::int64_t CellBounds::largest_degree(const std::optional<IntegerPin>& pinned, const Cell& c) {
  std::int64_t largest = 1;
  for (const std::int64_t degree : divisors(c.replicas)) {
    if (allows(pinned, degree)) largest = degree;
  }
  return largest;
}

// Returns the least cycles of a step in phases, over all rates and orders of phases; INT64_MAX: nothing fits. Units of
// `numbers` have bytes in place of cycles: of weights in `load`, of the boundary in `enter_forward`.
std::int64_t CellBounds::least_phases(const Cell& cell, const PhaseNumbers& numbers, const EqualRuns& runs) const {
  const std::vector<PhaseOrder>& pinned = job_.pins.phase_order;
  std::int64_t least = INT64_MAX;
  for (const PhaseRates& storage_rates : storage_rates_.at(cell.replica_groups()).phases) {
    for (const PhaseOrder order : {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer}) {
      if (!pinned.empty() && std::ranges::count(pinned, order) == 0) continue;
      PhaseNumbers m = in_cycles(storage_rates, order, cell, numbers);
      // A plan has at least two phases, and the second phase has `taken` bytes per tile less.
      if (m.held > m.taken) least = std::min(least, PhaseRest(std::move(m), runs).least());
      // phase_outer (all micro-batches at once) is never slower where boundaries leave the tiles. But with phase_outer,
      // boundaries on remote tiles take more room.
      const bool may_win = storage_rates.boundaries_on_remote_tile || boundaries_may_stay(job_, cell);
      if (order == PhaseOrder::phase_outer && !may_win) break;
    }
  }
  return least;
}

// Returns the numbers of a cell in cycles, with these rates and this order of phases. `m`: see least_phases().
PhaseNumbers CellBounds::in_cycles(const PhaseRates& storage_rates, PhaseOrder order, const Cell& cell,
                                   PhaseNumbers m) const {
  const bool outer = order == PhaseOrder::phase_outer;
  m.g = outer ? cell.accumulation : 1;
  m.repeats = outer ? 1 : cell.accumulation;
  const double per_byte = !outer && boundaries_may_stay(job_, cell) ? 0 : storage_rates.move;
  std::int64_t weights = 0, boundary = INT64_MAX;
  for (PhaseNumbers::Unit& u : m.units) {
    const bool first = &u == &m.units.front();
    weights += u.load;
    if (!first) boundary = std::min(boundary, u.enter_forward);
    u.load = static_cast<std::int64_t>(storage_rates.load * static_cast<double>(u.load));
    const auto move = static_cast<std::int64_t>(per_byte * static_cast<double>(u.enter_forward));
    u.enter_forward = u.leave_forward = u.leave_backward = move;
    u.enter_backward = first ? move : 2 * move;
  }
  // Data on remote tiles takes room there. Whichever IPU groups lend, the groups of a phase have no more room left than
  // all groups of the replica together.
  const std::int64_t tiles = job_.machine.chip.tiles;
  if (storage_rates.weights_on_remote_tile) m.held -= weights / largest_degree(job_.pins.rts_weights, cell) / tiles;
  if (storage_rates.boundaries_on_remote_tile && boundary < INT64_MAX) m.taken = boundary * m.g / tiles;
  return m;
}

// For phases: returns the cycles to load a unit's optimiser state from outside of the processor and to store it again;
// 0: not counted.
std::int64_t CellBounds::state_cycles(std::int64_t parameters, const StorageRates& storage_rates) const {
  if (storage_rates.state_rate == 0) return 0;
  const Bytes shard(ceil_div(parameters * state_bytes_, storage_rates.state_degree));
  return 2 * tables_.model().cycles(transfer_time(shard, BytesPerSecond(storage_rates.state_rate))).value;
}

const ShardCosts& CellBounds::shard_costs(const Cell& c) const { return tables_.shard_costs(c.replica_groups()); }

// Returns the least cycles per byte to load weights, over all sharding degrees. Each IPU reads a shard at `rate` bytes
// per second, then shards are gathered.
double CellBounds::cheapest_load(const Cell& c, double rate) const {
  const ShardCosts& costs = shard_costs(c);
  double least = kNever;
  for (std::int64_t degree : divisors(c.replicas)) {
    const double read = job_.machine.chip.clock.value / rate / static_cast<double>(degree);
    least = std::min(least, costs.gather(costs.of(degree)).per_byte + read);
  }
  return least;
}

// Returns the least cycles per byte to reduce gradients, over all sharding degrees. Gradients are scattered over the
// replicas that share an update or the gradients, then summed across such groups. When and how often gradients are
// reduced does not make this cheaper.
double CellBounds::cheapest_update(const Cell& c) const {
  const ShardCosts& costs = shard_costs(c);
  double least = kNever;
  for (std::int64_t degree : divisors(c.replicas)) least = std::min(least, costs.reduce(costs.of(degree), 0).per_byte);
  return least;
}

std::int64_t CellBounds::bound_without_tables(const Cell& cell, Execution execution) const {
  const auto& [list, runs] = units_.at(cell.micro_batch);
  if (!may_fit(list, cell.mesh.size()) || not_serialised_.contains({cell.micro_batch, cell.mesh.size()}))
    return INT64_MAX;
  const std::int64_t t = cell.mesh.size(), tiles = job_.machine.chip.tiles;
  const StorageRates& storage_rates = storage_rates_.at(cell.replica_groups());
  PhaseNumbers m = empty_numbers(cell);
  m.units.resize(list.size());
  for (std::size_t u = 0; u < list.size(); ++u) {
    m.units[u].resident = (list[u].weights + list[u].gradients) / t / tiles;
    m.units[u].forward = static_cast<std::int64_t>(list[u].forward) / t;
    if (training_) m.units[u].backward = static_cast<std::int64_t>(list[u].forward + list[u].backward) / t;
    m.units[u].load = list[u].weights / t;
    m.units[u].update = static_cast<std::int64_t>(storage_rates.update * static_cast<double>(list[u].gradients / t));
    if (execution == Execution::phases)
      m.units[u].update +=
          state_cycles(list[u].gradients / size_of(job_.pins.precision.accumulators) / t, storage_rates);
    m.units[u].enter_forward = list[u].boundary / t;
  }
  if (execution == Execution::phases) return least_phases(cell, m, runs);
  return least_pipeline(cell, m, pipeline_gather(cell, execution));
}

std::int64_t CellBounds::bound_by_work(const Cell& cell) const {
  double work = 0;
  for (const Unit& u : units_.at(cell.micro_batch).list) work += u.forward + (training_ ? u.backward : 0);
  const double ipus = static_cast<double>(cell.mesh.size() * cell.stages);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(cell.accumulation) * work / ipus));
}

// Both cells move the same bytes between the same numbers of IPUs. So only the distances between IPUs decide.
bool CellBounds::is_dominated(const Cell& cell, const Cell& other) const {
  const CostModel& model = tables_.model();
  const Strides s = cell.strides(), o = other.strides();
  const auto no_faster = [&](std::int64_t size, std::int64_t stride, std::int64_t other_stride) {
    return size == 1 || model.is_no_faster(GroupShape{size, stride}, GroupShape{size, other_stride});
  };
  if (cell.stages > 1 && !model.is_no_faster(s.stage, o.stage)) return false;
  const TensorParallel& t = cell.mesh;
  if (!no_faster(t.t1, t.t2 * s.rank, t.t2 * o.rank) || !no_faster(t.t2, s.rank, o.rank) ||
      !no_faster(t.size(), s.rank, o.rank))
    return false;
  // Only cells whose replicas are outermost have remote memory. Members of a shard group are neighbouring replicas, or
  // `apart` replicas from each other.
  const auto outermost = [&](const Strides& strides) { return strides.replica == t.size() * cell.stages; };
  if (cell.replicas > 1 && outermost(s) && !outermost(o)) return false;
  const std::vector<std::int64_t> degrees = divisors(cell.replicas);
  return std::ranges::all_of(degrees, [&](std::int64_t shards) {
    return std::ranges::all_of(divisors(cell.replicas / shards), [&](std::int64_t apart) {
      return no_faster(shards, apart * s.replica, apart * o.replica);
    });
  });
}

std::vector<bool> CellBounds::find_dominated(const std::vector<Cell>& cells) const {
  using Degrees = std::tuple<TensorParallel, std::int64_t, std::int64_t, ShardGroups>;
  const auto degrees_of = [](const Cell& c) { return Degrees(c.mesh, c.stages, c.replicas, c.groups); };
  std::map<Degrees, std::map<Placement, Cell>> placed;  // of any m and g, as these make no difference
  for (const Cell& c : cells) placed[degrees_of(c)].try_emplace(c.placement, c);
  std::map<std::pair<Degrees, Placement>, bool> known;
  std::vector<bool> out;
  for (const Cell& c : cells) {
    const auto [it, fresh] = known.try_emplace({degrees_of(c), c.placement});
    if (fresh) {
      it->second = std::ranges::any_of(placed[degrees_of(c)], [&](const auto& other) {
        return other.first != c.placement && is_dominated(c, other.second) &&
               (other.first < c.placement || !is_dominated(other.second, c));
      });
    }
    out.push_back(it->second);
  }
  return out;
}

// Returns the least cycles of a step in a pipeline; INT64_MAX: `gather` is kNever. The work of a micro-batch and
// `gather` cycles are spread evenly over the stages, and the pipeline fills. Filling has no fixed costs here, as
// Schedule::sequential has none.
std::int64_t CellBounds::least_pipeline(const Cell& c, const PhaseNumbers& numbers, double gather) const {
  if (gather == kNever) return INT64_MAX;
  auto work = static_cast<std::int64_t>(gather);
  std::int64_t update = 0;
  for (const PhaseNumbers::Unit& u : numbers.units) {
    work += training_ ? u.backward : u.forward;
    update += u.update;
  }
  const std::int64_t cycles = (c.accumulation + c.stages - 1) * (work / c.stages) +
                              c.accumulation * tables_.model().calibration().micro_batch_fixed.value +
                              update / c.stages;
  return std::max<std::int64_t>(1, cycles);
}

}  // namespace superstep
