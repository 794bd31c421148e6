// SPDX-License-Identifier: Apache-2.0
// Everything a plan needs to know of each unit at one (mesh, micro-batch, precision, compute tiles,
// temporary cap): footprints and costs of the functions that a lowered program calls. Equal units share a row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/equal_runs.h"
#include "model/lower/lower_unit.h"
#include "model/lower/update_costs.h"

namespace superstep {

struct UnitRow {
  Footprint forward, backward;
  TermCycles forward_cycles, backward_cycles;
  // One IPU.
  Bytes weight_bytes;           // weights first used here
  Bytes new_weight_bytes;       // of them those that the loss depends on: the update makes new ones
  Bytes borrowed_bytes;         // weights of earlier units used here as well
  std::int64_t parameters = 0;  // elements of those, after the split over t
  std::int64_t borrowed_parameters = 0;
  Bytes feed_bytes;  // graph inputs first read here, per micro-batch
  double flops = 0;  // model floating-point operations of one micro-batch, forward and backward, all of t
  // Per tile.
  Bytes weight_tile, borrowed_tile, feed_tile;
};

struct TableKey {
  TensorParallel mesh;
  std::int64_t micro_batch = 1;
  Precision precision;
  std::int64_t io_tiles = 0;
  double proportion = 0.6;  // available_memory_proportion: see cap_of()
  // If given, not a plan's table, but with the least time of all from this proportion to that one. The loosest is not
  // always the fastest: other slices of a gradient may fit the tiles better, and other tile plans each other.
  std::optional<double> least_proportion = {};
  bool accumulate = true;
  bool split_activations = false;  // ActivationSharding::throughout
  Serialisation serialisation;
  std::int64_t rank_stride = 1;
  std::int64_t replica_stride = 1;  // counts where statistics groups go on over replicas
  bool collapse = true;  // equal units share a row; false: each is lowered and costed on its own, for comparison
  friend bool operator==(const TableKey&, const TableKey&) = default;
};

// What crosses into a unit in the forward pass.
struct Boundary {
  Bytes bytes, tile;              // as it lies between units, on one IPU and on one tile
  Bytes shard, shard_tile;        // when every IPU of the mesh keeps an equal part of it
  Bytes gather_all, gather_rest;  // to join such parts: tensors gathered over all of t, or over t2 alone
  friend auto operator<=>(const Boundary&, const Boundary&) = default;
};

// What all tables of one cost model and one number of compute tiles share.
struct SharedCosts {
  std::shared_ptr<ProductFronts> products;  // other cost models of the same chip and calibration may have them too
  UpdateCosts updates;
  SharedCosts(const CostModel& model, std::int64_t tiles)
      : SharedCosts(std::make_shared<ProductFronts>(model.machine().chip, tiles, model.calibration())) {}
  explicit SharedCosts(std::shared_ptr<ProductFronts> fronts) : products(std::move(fronts)) {}
};

class UnitTable {
 public:
  UnitTable(const GraphFacts& facts, const GraphSharding& sharding, const CostModel& model, SharedCosts& shared,
            const TableKey& key, bool training);

  const TableKey& key() const { return key_; }
  std::size_t units() const { return row_of_.size(); }
  const UnitRow& row(std::size_t unit) const { return rows_[static_cast<std::size_t>(row_of_[unit])]; }
  // Units of one kind run the same functions.
  std::int32_t kind(std::size_t unit) const { return kind_of_[unit]; }
  std::size_t kinds() const { return representative_.size(); }
  // Forward results that cross into `unit`, one IPU and one tile; unit == units(): none.
  Bytes boundary_bytes(std::size_t unit) const { return boundary_[unit].bytes; }
  Bytes boundary_tile(std::size_t unit) const { return boundary_[unit].tile; }
  const Boundary& boundary(std::size_t unit) const { return boundary_[unit]; }
  // The optimiser's work when the replicas of `group` share it, by kind of unit; costed when first asked for, by any
  // number of threads.
  using Updates = std::vector<const UpdateCost*>;
  const Updates& updates(GroupShape group) const;
  const UpdateCost& update(const Updates& of, std::size_t unit) const {
    return *of[static_cast<std::size_t>(kind_of_[unit])];
  }
  const UpdateCost& update(std::size_t unit, GroupShape group) const { return update(updates(group), unit); }
  // A function itself, lowered anew: a search makes thousands of tables and few programs. `group`: of an update.
  Function function(std::size_t unit, Pass pass, GroupShape group = {}) const;
  std::int64_t checkpoint(std::size_t unit) const { return checkpoints_[unit]; }  // checkpoint_of()
  // The unit that owns the weights which `unit` borrows; -1: it borrows none.
  std::int32_t lender(std::size_t unit) const { return lenders_[unit]; }
  // The last unit before `unit` that owns or borrows them; -1: it borrows none.
  std::int32_t holder(std::size_t unit) const { return holders_[unit]; }
  // Calls f(holder) for them all, the last first, while it returns true.
  template <class F>
  void for_holders(std::int64_t unit, F f) const {
    const std::int64_t owner = lenders_[static_cast<std::size_t>(unit)];
    while (unit != owner && owner >= 0) {
      unit = holders_[static_cast<std::size_t>(unit)];
      if (!f(unit)) return;
    }
  }
  const std::vector<std::int64_t>& borrowers() const { return borrowers_; }  // units that have a lender, in order
  // Units of one class have the same row, boundary and lender. There is one unit more, the end: only its boundary
  // counts.
  const std::shared_ptr<const std::vector<std::int32_t>>& classes() const { return class_of_; }
  const std::vector<std::size_t>& first_of_class() const { return first_of_class_; }
  // A stage's numbers depend on the classes of its units, on which of them share a checkpoint, on whether it begins the
  // model, and, where weights are borrowed, on where the lender is: a run with a borrower in it equals none but itself.
  const EqualRuns& runs() const { return *runs_; }
  std::int64_t tiles() const { return context_.tiles; }
  const CapRange& caps() const { return caps_; }  // bounds on temporary memory that make the same rows
  const GraphFacts& facts() const { return context_.facts; }
  const GraphSharding& sharding() const { return context_.sharding; }
  const CostModel& model() const { return model_; }
  bool training() const { return training_; }

 private:
  UnitRow make_row(UnitId unit) const;
  Boundary make_boundary(std::size_t unit) const;
  void find_lenders();
  void classify();
  EqualRuns find_runs() const;
  UnitContext context_;
  const CostModel& model_;
  TableKey key_;
  bool training_;
  std::vector<std::int32_t> row_of_, kind_of_;
  std::vector<UnitId> representative_;
  std::vector<UnitRow> rows_;
  CapRange caps_;
  std::vector<Boundary> boundary_;
  std::vector<std::int64_t> checkpoints_;
  std::vector<std::int32_t> lenders_, holders_;
  std::vector<std::int64_t> borrowers_;
  std::shared_ptr<const std::vector<std::int32_t>> class_of_;
  std::vector<std::size_t> first_of_class_;
  std::optional<EqualRuns> runs_;  // once classified
  UpdateCosts& update_costs_;
  mutable std::once_flag update_works_made_;
  mutable std::vector<UpdateWork> update_works_;  // by kind
  mutable std::mutex mutex_;
  mutable std::map<GroupShape, Updates> updates_;
};

// Floating-point operations of a unit's matrix products in one pass: two for each point of their iteration spaces.
double product_flops(const GraphFacts& facts, UnitId unit, Pass pass);

// The share of work of one op on one IPU, for choosing splits: multiply rate or vector rate of all tiles.
WorkTime work_time(const Graph& graph, const Chip& chip);
// For the same: between neighbours, so that all placements have the same splits.
CollectiveTime collective_time(const CostModel& model, TensorParallel mesh);

// How tensors are split for tables of this key.
ShardRules shard_rules(const TableKey& key, const Chip& chip);

}  // namespace superstep
