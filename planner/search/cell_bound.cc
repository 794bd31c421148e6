// SPDX-License-Identifier: Apache-2.0
#include "planner/search/cell_bound.h"

#include <algorithm>
#include <iterator>
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
    const auto [it, fresh] = ways_.try_emplace(cell.replica_groups());
    if (fresh) it->second = ways(cell);
  }
  const std::vector<std::int64_t> micro_batches(sizes.begin(), sizes.end());
  // Imported graphs may be cut into other units at another size.
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

// Of a larger micro-batch than two others. Each tensor and each product grow by as much for each sample, so that what
// stands at one time, the most of sums of tensors, grows by no less than before.
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
  std::map<std::uint64_t, std::int64_t> standing;  // by signature
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

// The weights of each unit, their gradients in training, and what is live have to stand on the tiles at once, split
// over t at best.
bool CellBounds::may_fit(const std::vector<Unit>& units, std::int64_t ipus) const {
  const Chip& chip = job_.machine.chip;
  const std::int64_t room = (chip.tile_memory - chip.control_code).value;
  return std::ranges::all_of(
      units, [&](const Unit& u) { return (u.weights + u.gradients + u.standing) / chip.tiles / ipus <= room; });
}

// Without phases all weights of a replica stand on its tiles, unless they are pinned elsewhere. Those that other
// replicas have are gathered for each pass.
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

// Of a phase what is the same for all its units.
PhaseNumbers CellBounds::empty_numbers(const Cell& c) const {
  PhaseNumbers m;
  m.depth = c.stages;
  m.micro_batch_fixed = tables_.model().calibration().micro_batch_fixed.value;
  m.held = c.stages * (job_.machine.chip.tile_memory - job_.machine.chip.control_code).value;
  m.moves_overlap = m.loads_overlap = true;
  m.training = training_;
  return m;
}

// Bytes per second on the fastest way outside of the processor that a pin leaves to phases, other IPUs' tiles or the
// other places; 0: there is none.
double CellBounds::rate(const std::vector<Location>& pinned, const Cell& cell, bool lends) const {
  const Plan plan = cell.plan();
  double fastest = 0;
  for (const Location at : {Location::streaming, Location::remote_machine, Location::remote_ipu}) {
    if ((at == Location::remote_ipu) != lends || !has_lender(plan, at, job_.machine)) continue;
    if (!pinned.empty() && std::find(pinned.begin(), pinned.end(), at) == pinned.end()) continue;
    const std::int64_t stride = lender_stride(plan, at, job_.machine.ipus_per_machine);
    fastest = std::max(fastest, tables_.model().streaming_rate(at, stride).value);
  }
  return fastest;
}

CellBounds::Ways CellBounds::ways(const Cell& c) const {
  Ways out;
  if (training_) out.update = cheapest_update(c);
  if (!may_be_phased_) return out;
  const double clock = job_.machine.chip.clock.value;
  // Boundaries that are pinned in the processor go through Streaming Memory.
  std::vector<Location> stash = job_.pins.activations;
  std::replace(stash.begin(), stash.end(), Location::in_processor, Location::streaming);
  for (const bool lends_weights : {false, true}) {
    const double loads = rate(job_.pins.weights, c, lends_weights);
    if (loads == 0) continue;
    for (const bool lends_boundaries : {false, true}) {
      const double moves = rate(stash, c, lends_boundaries);
      if (moves > 0) out.phases.push_back({clock / moves, cheapest_load(c, loads), lends_boundaries, lends_weights});
    }
  }
  // Free, a state is shared by so many that it decides nothing; but fewer tables would be made, which questions then
  // lack.
  if (!training_ || !job_.pins.rts_optimizer_state) return out;
  out.state_rate = std::max(rate(job_.pins.optimizer_state, c, false), rate(job_.pins.optimizer_state, c, true));
  if (out.state_rate > 0) out.state_degree = largest_degree(job_.pins.rts_optimizer_state, c);
  return out;
}

// 1: none is allowed.
std::int64_t CellBounds::largest_degree(const std::optional<IntegerPin>& pinned, const Cell& c) {
  std::int64_t largest = 1;
  for (const std::int64_t degree : divisors(c.replicas)) {
    if (allows(pinned, degree)) largest = degree;
  }
  return largest;
}

// By the way on which it is least. Of units with the bytes of weights as `load`, of the boundary as `enter_forward`.
std::int64_t CellBounds::least_phases(const Cell& cell, const PhaseNumbers& numbers, const EqualRuns& runs) const {
  const std::vector<PhaseOrder>& pinned = job_.pins.phase_order;
  std::int64_t least = INT64_MAX;
  for (const PhaseWays& ways : ways_.at(cell.replica_groups()).phases) {
    for (const PhaseOrder order : {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer}) {
      if (!pinned.empty() && std::ranges::count(pinned, order) == 0) continue;
      PhaseNumbers m = by(ways, order, cell, numbers);
      // There are two phases at least.
      if (m.held > m.taken) least = std::min(least, PhaseRest(std::move(m), runs).least());
      // With all micro-batches at once nothing takes longer, but other IPUs keep more boundaries.
      if (order == PhaseOrder::phase_outer && !ways.lends_boundaries) break;
    }
  }
  return least;
}

PhaseNumbers CellBounds::by(const PhaseWays& ways, PhaseOrder order, const Cell& cell, PhaseNumbers m) const {
  const bool outer = order == PhaseOrder::phase_outer;
  m.g = outer ? cell.accumulation : 1;
  m.repeats = outer ? 1 : cell.accumulation;
  std::int64_t weights = 0, boundary = INT64_MAX;
  for (PhaseNumbers::Unit& u : m.units) {
    const bool first = &u == &m.units.front();
    weights += u.load;
    if (!first) boundary = std::min(boundary, u.enter_forward);
    u.load = static_cast<std::int64_t>(ways.load * static_cast<double>(u.load));
    const auto move = static_cast<std::int64_t>(ways.move * static_cast<double>(u.enter_forward));
    u.enter_forward = u.leave_forward = u.leave_backward = move;
    u.enter_backward = first ? move : 2 * move;
  }
  // Whichever IPU groups keep it, those of a phase have no more left than all would have.
  const std::int64_t tiles = job_.machine.chip.tiles;
  if (ways.lends_weights) m.held -= weights / largest_degree(job_.pins.rts_weights, cell) / tiles;
  if (ways.lends_boundaries && boundary < INT64_MAX) m.taken = boundary * m.g / tiles;
  return m;
}

// Of phases: a state comes from outside of the processor and goes back.
std::int64_t CellBounds::state_cycles(std::int64_t parameters, const Ways& ways) const {
  if (ways.state_rate == 0) return 0;
  const Bytes shard(ceil_div(parameters * state_bytes_, ways.state_degree));
  return 2 * tables_.model().cycles(transfer_time(shard, BytesPerSecond(ways.state_rate))).value;
}

const ShardCosts& CellBounds::shard_costs(const Cell& c) const { return tables_.shard_costs(c.replica_groups()); }

// By the sharding degree for which it is least, from where shards come in at `rate` bytes per second.
double CellBounds::cheapest_load(const Cell& c, double rate) const {
  const ShardCosts& costs = shard_costs(c);
  double least = kNever;
  for (std::int64_t degree : divisors(c.replicas)) {
    const double read = job_.machine.chip.clock.value / rate / static_cast<double>(degree);
    least = std::min(least, costs.gather(costs.of(degree)).per_byte + read);
  }
  return least;
}

// Gradients are scattered over as many replicas as share an update, or as share the gradients, and joined across such
// groups; neither when it is done nor how often makes that less.
double CellBounds::cheapest_update(const Cell& c) const {
  const ShardCosts& costs = shard_costs(c);
  double least = kNever;
  for (std::int64_t degree : divisors(c.replicas)) least = std::min(least, costs.reduce(costs.of(degree), 0).per_byte);
  return least;
}

std::int64_t CellBounds::quick(const Cell& cell, Execution execution) const {
  const auto& [list, runs] = units_.at(cell.micro_batch);
  if (!may_fit(list, cell.mesh.size()) || not_serialised_.contains({cell.micro_batch, cell.mesh.size()}))
    return INT64_MAX;
  const std::int64_t t = cell.mesh.size(), tiles = job_.machine.chip.tiles;
  const Ways& ways = ways_.at(cell.replica_groups());
  PhaseNumbers m = empty_numbers(cell);
  m.units.resize(list.size());
  for (std::size_t u = 0; u < list.size(); ++u) {
    m.units[u].resident = (list[u].weights + list[u].gradients) / t / tiles;
    m.units[u].forward = static_cast<std::int64_t>(list[u].forward) / t;
    if (training_) m.units[u].backward = static_cast<std::int64_t>(list[u].forward + list[u].backward) / t;
    m.units[u].load = list[u].weights / t;
    m.units[u].update = static_cast<std::int64_t>(ways.update * static_cast<double>(list[u].gradients / t));
    if (execution == Execution::phases)
      m.units[u].update += state_cycles(list[u].gradients / size_of(job_.pins.precision.accumulators) / t, ways);
    m.units[u].enter_forward = list[u].boundary / t;
  }
  if (execution == Execution::phases) return least_phases(cell, m, runs);
  return least_pipeline(cell, m, pipeline_gather(cell, execution));
}

std::int64_t CellBounds::rough(const Cell& cell) const {
  double work = 0;
  for (const Unit& u : units_.at(cell.micro_batch).list) work += u.forward + (training_ ? u.backward : 0);
  const double ipus = static_cast<double>(cell.mesh.size() * cell.stages);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(cell.accumulation) * work / ipus));
}

// Whatever moves between IPUs has the same size and the same members; how far apart they are decides.
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
  // Those that share a shard are next to each other, or as many apart as there are shards. Only replicas that are
  // outermost lend each other memory.
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
  std::map<Degrees, std::map<Placement, Cell>> placed;  // m and g make no difference
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

// Of all tables of the cell's settings those that bound the others, for each way to hold activations. A looser bound on
// temporary memory and more tiles give no more work. A tighter bound takes no more memory on as many tiles, but on
// fewer tiles another plan is the fastest, which may take less.
std::vector<CellBounds::Ends> CellBounds::ends_of(const Cell& c, Execution execution) const {
  TableKey key;
  key.mesh = c.mesh;
  key.micro_batch = c.micro_batch;
  key.rank_stride = c.strides().rank;
  key.replica_stride = c.strides().replica;
  key.precision = job_.pins.precision;
  key.serialisation = job_.pins.serialisation;
  key.accumulate = c.accumulation > 1;
  const Pins& pins = job_.pins;
  const auto [lowest, highest] = ends_of_proportions(job_);
  if (!pins.stage_proportions.empty()) key.stage_bounds = stage_bounds(*pins.stages, pins.stage_proportions);
  std::vector<std::int64_t> io_tiles = {0};
  if (execution == Execution::phases) io_tiles = kIoTiles;
  if (pins.io_tiles && pins.io_tiles->values.empty()) io_tiles.push_back(pins.io_tiles->low);
  if (pins.io_tiles && !pins.io_tiles->values.empty()) io_tiles = pins.io_tiles->values;
  std::erase_if(io_tiles, [&](std::int64_t n) {
    return n >= job_.machine.chip.tiles || (pins.io_tiles && !pins.io_tiles->allows(n));
  });
  std::ranges::sort(io_tiles);
  const auto add = [&](bool split_activations, std::vector<Ends>& out) {
    key.split_activations = split_activations;
    Ends& ends = out.emplace_back(Ends{key, {}});
    ends.fastest.proportion = highest;
    if (key.stage_bounds.empty()) ends.fastest.least_proportion = lowest;
    for (const std::int64_t io : io_tiles) {
      TableKey& lean = ends.leanest.emplace_back(key);
      lean.proportion = lowest;
      lean.io_tiles = io;
    }
  };
  const std::vector<ActivationSharding>& pinned = pins.activation_sharding;
  const auto split = std::count(pinned.begin(), pinned.end(), ActivationSharding::throughout), all = std::ssize(pinned);
  std::vector<Ends> out;
  if (all == 0 || split < all) add(false, out);
  if (all == 0 ? c.mesh.size() > 1 : split > 0) add(true, out);
  return out;
}

std::vector<TableKey> CellBounds::tables_of(const Cell& cell, Execution execution, Step step) const {
  std::vector<TableKey> keys;
  for (const Ends& ends : ends_of(cell, execution)) {
    if (step == Step::times) keys.push_back(ends.fastest);
    const std::size_t lean = step == Step::room ? std::min<std::size_t>(1, ends.leanest.size()) : ends.leanest.size();
    if (step != Step::times) std::copy_n(ends.leanest.begin(), lean, std::back_inserter(keys));
  }
  return keys;
}

CellBounds::Tabulated CellBounds::tabulated(const Cell& cell, Execution execution, Step step) {
  if (step == Step::times) return least_time(cell, execution);
  const bool fit = each_fits(tables_of(cell, execution, step), &Footprint::peak);
  return {fit || step != Step::all_room ? 0 : INT64_MAX, fit || step == Step::all_room};
}

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
  const Ways& ways = ways_.at(c.replica_groups());
  PhaseNumbers m = empty_numbers(c);
  m.units.resize(table.units());
  for (std::size_t u = 0; u < table.units(); ++u) {
    const UnitRow& row = table.row(u);
    const std::int64_t gradients = gradient_bytes(row);
    m.units[u].resident = resident(table, u);
    m.units[u].forward = row.forward_cycles.total().value;
    if (training_) m.units[u].backward = (row.forward_cycles.total() + row.backward_cycles.total()).value;
    m.units[u].load = row.weight_bytes.value;
    m.units[u].update = static_cast<std::int64_t>(ways.update * static_cast<double>(gradients));
    if (execution == Execution::phases) m.units[u].update += state_cycles(row.parameters, ways);
    m.units[u].enter_forward = table.boundary(u).shard.value;
  }
  return m;
}

std::int64_t CellBounds::gradient_bytes(const UnitRow& row) const {
  return training_ ? row.parameters * size_of(job_.pins.precision.accumulators) : 0;
}

// Also where weights are gathered and gradients kept elsewhere there is a place on the tiles for a unit's.
std::int64_t CellBounds::resident(const UnitTable& table, std::size_t unit) const {
  const UnitRow& row = table.row(unit);
  return row.weight_tile.value + gradient_bytes(row) / table.tiles();
}

// Each unit by one of the tables, with that memory of either pass.
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

// The work of one micro-batch, weights gathered in `gather` cycles, spread evenly over the stages, and every pipeline
// fills; but without its fixed costs, which one stage after the other does not have.
std::int64_t CellBounds::least_pipeline(const Cell& c, const PhaseNumbers& numbers, double gather) const {
  if (gather == kNever) return INT64_MAX;
  auto work = static_cast<std::int64_t>(gather);
  std::int64_t update = 0;
  for (const PhaseNumbers::Unit& u : numbers.units) {
    work += training_ ? u.backward : u.forward;
    update += u.update;
  }
  const std::int64_t cycles = (c.accumulation + c.stages - 1) * (work / c.stages) +
                              c.accumulation * numbers.micro_batch_fixed + update / c.stages;
  return std::max<std::int64_t>(1, cycles);
}

}  // namespace superstep
