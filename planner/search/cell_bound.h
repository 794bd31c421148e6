// SPDX-License-Identifier: Apache-2.0
// Bounds on the cells of the space before cells are opened, and dominance between cells.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/cost/phase_numbers.h"
#include "planner/cost/tables.h"
#include "planner/space/space.h"

namespace superstep {

// Lower bounds on the cycles of a step, for the plans of a cell with one execution.
class CellBounds {
 public:
  explicit CellBounds(Tables& tables);

  // Prepares bounds on `cells`: call it before all other functions. Makes the graph of each micro-batch. For models of
  // the zoo, the two smallest micro-batches suffice: numbers of larger micro-batches are extrapolated. `all_graphs`, or
  // a pinned serialisation, asks for all graphs.
  void prepare(const std::vector<Cell>& cells, int threads, bool all_graphs = false);
  // Returns a lower bound in cycles on the plans of a cell with this execution; INT64_MAX: no plan fits. Needs no
  // table: products run at the matrix unit's peak, tensors are split evenly. Safe for any number of threads, as
  // rough().
  std::int64_t bound_without_tables(const Cell& cell, Execution execution) const;
  // Returns a weaker bound in cycles from almost no work, for searches out of time: all products, spread evenly over
  // the IPUs of a replica.
  std::int64_t bound_by_work(const Cell& cell) const;
  // The steps of bounds by tables, each with more tables than the step before. times: the least time of each unit.
  // room: whether each unit fits on the tiles by the leanest tables with the most compute tiles, which settles most
  // cells. all_room: whether each unit fits by any of the leanest tables.
  enum class Step : std::uint8_t { times, room, all_room };
  static Step next(Step step) { return step == Step::times ? Step::room : Step::all_room; }
  struct Tabulated {
    std::int64_t least;  // lower bound in cycles; INT64_MAX: no plan fits
    bool settled;        // later steps do not raise the bound
  };
  // Returns the bound of one step on the plans of a cell with this execution. Makes tables that are missing.
  Tabulated bound_of_step(const Cell& cell, Execution execution, Step step);
  // True if `other` dominates `cell`: no plan of `cell` is faster than the same plan of `other`, which allows all these
  // plans. The cells differ only in their placement.
  bool is_dominated(const Cell& cell, const Cell& other) const;
  // For each cell given to prepare(): true if another cell dominates it, so that the cell needs no search. Of cells
  // that dominate each other, the first placement is kept.
  const std::vector<bool>& dominated() const { return dominated_; }
  // Returns the keys of the tables that a step needs.
  std::vector<TableKey> tables_of(const Cell& cell, Execution execution, Step step) const;

 private:
  // Numbers of a unit, for one IPU that runs a whole micro-batch.
  struct Unit {
    std::int64_t weights = 0, gradients = 0, boundary = 0;  // bytes
    std::int64_t standing = 0;                              // bytes live at once (standing_alone())
    double forward = 0, backward = 0;                       // cycles
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };
  // The units of the model for one micro-batch.
  struct Units {
    std::vector<Unit> list;
    EqualRuns runs = equal_runs(list);
  };
  Tables& tables_;
  const Job& job_;
  bool training_, may_be_phased_;
  std::int64_t state_bytes_;             // bytes of optimiser state per parameter
  std::map<std::int64_t, Units> units_;  // by micro-batch
  std::int64_t weights_ = 0;             // bytes of the weights of all units
  // Pairs of micro-batch and IPUs of a mesh for which the pinned serialisation does not cut an op into equal parts.
  std::set<std::pair<std::int64_t, std::int64_t>> not_serialised_;
  std::vector<bool> dominated_;
  // Cycles per byte of one IPU to move boundaries of phases and to load weights of phases. Two flags: boundaries and
  // weights are on remote tiles.
  struct PhaseRates {
    double move = 0, load = 0;
    bool boundaries_on_remote_tile = false, weights_on_remote_tile = false;
  };
  // The fastest transfers of a cell, whatever the settings.
  struct StorageRates {
    std::vector<PhaseRates> phases;  // one for each choice of remote tiles; empty: there are no phases
    double update = 0;               // cycles per byte of gradients
    double state_rate = 0;           // bytes per second to the optimiser state; 0: the transfer is not counted
    std::int64_t state_degree = 1;   // the most replicas that share a state
  };
  std::map<Replicas, StorageRates> storage_rates_;

  Units units(std::int64_t micro_batch) const;
  void find_not_serialised(const std::vector<Cell>& cells);
  static Units grown(const Units& few, const Units& more, std::int64_t few_samples, std::int64_t more_samples,
                     std::int64_t samples);
  bool may_fit(const std::vector<Unit>& units, std::int64_t ipus) const;
  std::vector<bool> find_dominated(const std::vector<Cell>& cells) const;
  double pipeline_gather(const Cell& cell, Execution execution) const;
  // Tables that bound a set of tables. `fastest` has the least times; for each unit, one of `leanest` has the least
  // memory.
  struct ExtremeTables {
    TableKey fastest;
    std::vector<TableKey> leanest;
  };
  std::vector<ExtremeTables> extreme_tables_of(const Cell& cell, Execution execution) const;
  Tabulated least_time(const Cell& cell, Execution execution);
  PhaseNumbers tabulated_numbers(const Cell& cell, Execution execution, const TableKey& fastest);
  std::int64_t gradient_bytes(const UnitRow& row) const;
  std::int64_t resident(const UnitTable& table, std::size_t unit) const;
  bool each_fits(const std::vector<TableKey>& keys, Bytes Footprint::*memory);
  PhaseNumbers empty_numbers(const Cell& cell) const;
  double rate(const std::vector<Location>& pinned, const Cell& cell, bool uses_remote_tile) const;
  StorageRates storage_rates(const Cell& cell) const;
  std::int64_t state_cycles(std::int64_t parameters, const StorageRates& storage_rates) const;
  std::int64_t least_phases(const Cell& cell, const PhaseNumbers& numbers, const EqualRuns& runs) const;
  PhaseNumbers in_cycles(const PhaseRates& storage_rates, PhaseOrder order, const Cell& cell,
                         PhaseNumbers numbers) const;
  static std::int64_t largest_degree(const std::optional<IntegerPin>& pinned, const Cell& cell);
  const ShardCosts& shard_costs(const Cell& cell) const;
  double cheapest_load(const Cell& cell, double rate) const;
  double cheapest_update(const Cell& cell) const;
  std::int64_t least_pipeline(const Cell& cell, const PhaseNumbers& numbers, double gather) const;
};

}  // namespace superstep
