// SPDX-License-Identifier: Apache-2.0
// Everything a plan needs to know of each unit at one (mesh, micro-batch, precision, compute tiles,
// temporary cap): footprints and costs of the functions that a lowered program calls. Equal units share a row.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/cost/cost.h"
#include "model/growing_map.h"
#include "model/lower/equal_runs.h"
#include "model/lower/lower_unit.h"
#include "model/lower/update_costs.h"

namespace superstep {

// Of a pass: shards of a mesh joined or summed, which takes as long as its ranks are apart.
struct MeshCollective {
  CollectiveKind kind;
  GroupShape group;  // ranks
  Bytes bytes;
  std::int64_t times;
};

struct UnitRow {
  Footprint forward, backward;
  TermCycles forward_cycles, backward_cycles;
  std::vector<MeshCollective> forward_mesh, backward_mesh;  // that these have in them
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

// What units from `begin` on have, until the next one.
struct StageBound {
  std::int64_t begin = 0;
  Proportion proportion;
  friend bool operator==(const StageBound&, const StageBound&) = default;
};
// Of the first units of stages, and what each has; empty: none has its own.
std::vector<StageBound> stage_bounds(const std::vector<std::int64_t>& stages, const std::vector<Proportion>& of_each);

struct TableKey {
  TensorParallel mesh;
  std::int64_t micro_batch = 1;
  Precision precision;
  std::int64_t io_tiles = 0;
  Proportion proportion = 0.6;  // available_memory_proportion: see cap_of()
  // If given, not a plan's table, but with the least time of all from this proportion to that one. The loosest is not
  // always the fastest: other slices of a gradient may fit the tiles better, and other tile plans each other.
  std::optional<Proportion> least_proportion = {};
  bool accumulate = true;
  bool split_activations = false;  // ActivationSharding::throughout
  Serialisation serialisation;
  std::int64_t rank_stride = 1;
  std::int64_t replica_stride = 1;  // counts where statistics groups go on over replicas
  bool collapse = true;  // equal units share a row; false: each is lowered and costed on its own, for comparison
  std::vector<StageBound> stage_bounds = {};  // if given, in place of `proportion`: the first one begins with unit 0
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
  // The same units where ranks are `rank_stride` apart, which are neighbours in the other table: nothing is lowered.
  UnitTable(const UnitTable& neighbours, std::int64_t rank_stride);
  // The same on another machine with the same domains (have_same_domains()), chip and calibration. The other's model
  // may be gone.
  UnitTable(const UnitTable& other, const CostModel& model, SharedCosts& shared);

  const TableKey& key() const { return key_; }
  std::size_t units() const { return layout_->row_of.size(); }
  const UnitRow& row(std::size_t unit) const { return rows_[static_cast<std::size_t>(layout_->row_of[unit])]; }
  // Units of one kind run the same functions, within the same bound.
  std::int32_t kind(std::size_t unit) const { return layout_->kind_of[unit]; }
  std::size_t kinds() const { return layout_->representative.size(); }
  // Forward results that cross into `unit`, one IPU and one tile; unit == units(): none.
  Bytes boundary_bytes(std::size_t unit) const { return layout_->boundary[unit].bytes; }
  Bytes boundary_tile(std::size_t unit) const { return layout_->boundary[unit].tile; }
  const Boundary& boundary(std::size_t unit) const { return layout_->boundary[unit]; }
  // The optimiser's work when the replicas of `group` share it, by kind of unit; costed when first asked for, by any
  // number of threads.
  using Updates = std::vector<const UpdateCost*>;
  const Updates& updates(GroupShape group) const;
  const UpdateCost& update(const Updates& of, std::size_t unit) const {
    return *of[static_cast<std::size_t>(layout_->kind_of[unit])];
  }
  const UpdateCost& update(std::size_t unit, GroupShape group) const { return update(updates(group), unit); }
  // A function itself, lowered anew: a search makes thousands of tables and few programs. `group`: of an update.
  Function function(std::size_t unit, Pass pass, GroupShape group = {}) const;
  std::int64_t checkpoint(std::size_t unit) const { return layout_->checkpoints[unit]; }  // checkpoint_of()
  // The unit that owns the weights which `unit` borrows; -1: it borrows none.
  std::int32_t lender(std::size_t unit) const { return layout_->lenders[unit]; }
  // The last unit before `unit` that owns or borrows them; -1: it borrows none.
  std::int32_t holder(std::size_t unit) const { return layout_->holders[unit]; }
  // Calls f(holder) for them all, the last first, while it returns true.
  template <class F>
  void for_holders(std::int64_t unit, F f) const {
    const std::int64_t owner = layout_->lenders[static_cast<std::size_t>(unit)];
    while (unit != owner && owner >= 0) {
      unit = layout_->holders[static_cast<std::size_t>(unit)];
      if (!f(unit)) return;
    }
  }
  // Units that have a lender, in order.
  const std::vector<std::int64_t>& borrowers() const { return layout_->borrowers; }
  // Units of one class have the same row, boundary and lender. There is one unit more, the end: only its boundary
  // counts.
  const std::shared_ptr<const std::vector<std::int32_t>>& classes() const { return layout_->class_of; }
  const std::vector<std::size_t>& first_of_class() const { return layout_->first_of_class; }
  // A stage's numbers depend on the classes of its units, on which of them share a checkpoint, on whether it begins the
  // model, and, where weights are borrowed, on where the lender is: a run with a borrower in it equals none but itself.
  const EqualRuns& runs() const { return *layout_->runs; }
  std::int64_t tiles() const { return context_.tiles; }
  // Bounds on temporary memory that make the same rows; where stages have their own, that of `proportion` alone.
  const Caps& caps() const { return layout_->caps; }
  const GraphFacts& facts() const { return context_.facts; }
  const GraphSharding& sharding() const { return context_.sharding; }
  const CostModel& model() const { return model_; }
  bool training() const { return training_; }

 private:
  using Held = std::array<Bytes, 3>;  // by pass: UnitContext::held
  // What does not depend on how far apart ranks are.
  struct Layout {
    std::vector<std::int32_t> row_of, kind_of;
    std::vector<UnitId> representative;  // by kind, as what follows
    std::vector<Held> held;
    Caps caps;
    std::vector<Boundary> boundary;
    std::vector<std::int64_t> checkpoints;
    std::vector<std::int32_t> lenders, holders;
    std::vector<std::int64_t> borrowers;
    std::shared_ptr<const std::vector<std::int32_t>> class_of;
    std::vector<std::size_t> first_of_class;
    std::optional<EqualRuns> runs;  // once classified
  };
  const Proportion& proportion(UnitId unit) const;
  UnitRow make_row(UnitId unit, const Held& held) const;
  Boundary make_boundary(std::size_t unit) const;
  void find_lenders(Layout& layout) const;
  void find_update_works();
  static void classify(Layout& layout);
  static EqualRuns find_runs(const Layout& layout);
  Held find_held(UnitId unit) const;
  UnitContext bounded(UnitId unit, Pass pass, const Held& held) const;
  UnitContext context_;  // bounds on temporary memory aside: see bounded()
  const CostModel& model_;
  TableKey key_;
  bool training_;
  std::vector<UnitRow> rows_;
  std::shared_ptr<const Layout> layout_;
  UpdateCosts& update_costs_;
  std::vector<UpdateWork> update_works_;  // by kind
  mutable GrowingMap<GroupShape, Updates, 16> updates_;
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
