// SPDX-License-Identifier: Apache-2.0
// What can be said of the cells of the space before they are opened.
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

class CellBounds {
 public:
  explicit CellBounds(Tables& tables);

  // What cells have in common, for those of these that are to be bounded. Makes the graphs of their micro-batches: all,
  // or of models of the zoo those of the two smallest, from which the others follow.
  void prepare(const std::vector<Cell>& cells, int threads, bool all_graphs = false);
  // Cycles that no plan of the cell with such an execution takes less than; INT64_MAX: none fits. Products at the
  // matrix unit's peak, tensors split evenly: needs no table. After prepare(); by any number of threads, as the next.
  std::int64_t quick(const Cell& cell, Execution execution) const;
  // From next to no work, where there is no time for more: all that IPUs compute, spread evenly over them.
  std::int64_t rough(const Cell& cell) const;
  // The same by tables, in steps, each with more of them: the cheapest times; whether each unit fits on the tiles by
  // the leanest tables, first those with the most tiles, which say so of most cells, then all.
  enum class Step : std::uint8_t { times, room, all_room };
  static Step next(Step step) { return step == Step::times ? Step::room : Step::all_room; }
  struct Tabulated {
    std::int64_t least;  // cycles; INT64_MAX: none fits
    bool settled;        // the steps that follow say no more
  };
  Tabulated tabulated(const Cell& cell, Execution execution, Step step);
  // Whether every plan of a cell takes as long as the same plan of another one, or longer, which differs in its
  // placement alone and allows the same.
  bool is_dominated(const Cell& cell, const Cell& other) const;
  // Of each cell that prepare() was given whether another one dominates it, so that it needs no search; of equal ones
  // the first does.
  const std::vector<bool>& dominated() const { return dominated_; }
  // Those of a step.
  std::vector<TableKey> tables_of(const Cell& cell, Execution execution, Step step) const;

 private:
  // Of a unit, for one IPU that does all of a micro-batch.
  struct Unit {
    std::int64_t weights = 0, gradients = 0, boundary = 0;  // bytes
    std::int64_t standing = 0;                              // bytes (standing_alone())
    double forward = 0, backward = 0;                       // cycles
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };
  struct Units {
    std::vector<Unit> list;
    EqualRuns runs = equal_runs(list);
  };
  Tables& tables_;
  const Job& job_;
  bool training_, may_be_phased_;
  std::int64_t state_bytes_;             // of a parameter
  std::map<std::int64_t, Units> units_;  // by micro-batch
  std::int64_t weights_ = 0;             // bytes, of all units
  // Micro-batch and IPUs of a mesh where the pinned serialisation does not cut an op into equal parts.
  std::set<std::pair<std::int64_t, std::int64_t>> not_serialised_;
  std::vector<bool> dominated_;
  // How boundaries and weights of phases come and go, cycles for a byte of one IPU, and which other IPUs' tiles keep.
  struct PhaseWays {
    double move = 0, load = 0;
    bool lends_boundaries = false, lends_weights = false;
  };
  struct Ways {
    std::vector<PhaseWays> phases;  // none: there are no phases
    double update = 0;              // cycles for a byte of gradients
    // The fastest to an optimiser's state, bytes per second (0: not counted), and the most replicas that share one.
    double state_rate = 0;
    std::int64_t state_degree = 1;
  };
  std::map<Replicas, Ways> ways_;

  Units units(std::int64_t micro_batch) const;
  void find_not_serialised(const std::vector<Cell>& cells);
  static Units grown(const Units& few, const Units& more, std::int64_t few_samples, std::int64_t more_samples,
                     std::int64_t samples);
  bool may_fit(const std::vector<Unit>& units, std::int64_t ipus) const;
  std::vector<bool> find_dominated(const std::vector<Cell>& cells) const;
  double pipeline_gather(const Cell& cell, Execution execution) const;
  // Tables of which one has the least times, and each unit in one of the others the least memory.
  struct Ends {
    TableKey fastest;
    std::vector<TableKey> leanest;
  };
  std::vector<Ends> ends_of(const Cell& cell, Execution execution) const;
  Tabulated least_time(const Cell& cell, Execution execution);
  PhaseNumbers tabulated_numbers(const Cell& cell, Execution execution, const TableKey& fastest);
  std::int64_t gradient_bytes(const UnitRow& row) const;
  std::int64_t resident(const UnitTable& table, std::size_t unit) const;
  bool each_fits(const std::vector<TableKey>& keys, Bytes Footprint::*memory);
  PhaseNumbers empty_numbers(const Cell& cell) const;
  double rate(const std::vector<Location>& pinned, const Cell& cell, bool lends) const;
  Ways ways(const Cell& cell) const;
  std::int64_t state_cycles(std::int64_t parameters, const Ways& ways) const;
  std::int64_t least_phases(const Cell& cell, const PhaseNumbers& numbers, const EqualRuns& runs) const;
  PhaseNumbers by(const PhaseWays& ways, PhaseOrder order, const Cell& cell, PhaseNumbers numbers) const;
  static std::int64_t largest_degree(const std::optional<IntegerPin>& pinned, const Cell& cell);
  const ShardCosts& shard_costs(const Cell& cell) const;
  double cheapest_load(const Cell& cell, double rate) const;
  double cheapest_update(const Cell& cell) const;
  std::int64_t least_pipeline(const Cell& cell, const PhaseNumbers& numbers, double gather) const;
};

}  // namespace superstep
