// SPDX-License-Identifier: Apache-2.0
// Table of the time and memory of each unit for one mesh, micro-batch, precision, number of compute tiles and bound on
// temporary memory. A row has footprints and cycles of the functions that a lowered program calls. Equal units share a
// row.
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
#include "model/lower/shard_rules.h"
#include "model/lower/update_costs.h"

namespace superstep {

// A collective of a pass over the IPUs (ranks) of a mesh. Its time depends on the distance between the ranks.
struct MeshCollective {
  CollectiveKind kind;
  GroupShape group;    // ranks of the mesh
  Bytes bytes;         // as in CostModel::collective()
  std::int64_t times;  // runs in one call of the pass
};

struct UnitRow {
  Footprint forward, backward;
  TermCycles forward_cycles, backward_cycles;               // of one call
  std::vector<MeshCollective> forward_mesh, backward_mesh;  // collectives over the mesh that these cycles include
  // Per IPU.
  Bytes weight_bytes;                    // weights that the unit is the first to use
  Bytes new_weight_bytes;                // trained weights among these, for which the update makes new values
  Bytes borrowed_bytes;                  // weights of earlier units that the unit uses too
  std::int64_t parameters = 0;           // elements of the new weights, after the split over t
  std::int64_t borrowed_parameters = 0;  // elements of the trained borrowed weights, after the split over t
  std::int64_t updated_at_once = 0;      // elements of the largest new weight, of a slice of it if it is serialised
  Bytes feed_bytes;                      // graph inputs that the unit is the first to read, per micro-batch
  Bytes result_bytes;                    // results that the unit makes for the host, per micro-batch
  double flops = 0;  // model floating-point operations of one micro-batch, forward and backward, over all t IPUs
  // Per tile.
  Bytes weight_tile, borrowed_tile, feed_tile, result_tile;

  // Returns the bytes per tile of the optimiser state that an update loads at once from a place outside the tiles: that
  // of one weight, whole, of which `shards` replicas each have a part. So it is in PopART, where mT5's table ran out of
  // memory until it was serialised (Optimum Graphcore, notebooks/mt5_translation.ipynb).
  Bytes loaded_state(Location at, std::int64_t state_bytes, std::int64_t shards, std::int64_t tiles) const {
    if (at == Location::in_processor) return Bytes(0);
    return Bytes(ceil_div(ceil_div(updated_at_once * state_bytes, shards), tiles));
  }
  // What goes between the unit and the host, per micro-batch: of the IPU, of a tile.
  Bytes host_bytes() const { return feed_bytes + result_bytes; }
  Bytes host_tile() const { return feed_tile + result_tile; }
};

// A bound on temporary memory for the units from `begin` on, up to the `begin` of the next bound.
struct StageBound {
  std::int64_t begin = 0;
  Proportion proportion;
  friend bool operator==(const StageBound&, const StageBound&) = default;
};
// Returns the bound of each stage, given the first units of all stages. Empty if `of_each` is empty: no stage has a
// bound of its own.
std::vector<StageBound> stage_bounds(const std::vector<std::int64_t>& stages, const std::vector<Proportion>& of_each);

// The choices that a table is made for.
struct TableKey {
  TensorParallel mesh;
  std::int64_t micro_batch = 1;
  Precision precision;
  std::int64_t io_tiles = 0;
  Proportion proportion = 0.6;  // available_memory_proportion: see cap_of()
  // If given, the table has the least time over all bounds from `least_proportion` to `proportion`, and belongs to no
  // plan. The loosest bound is not always the fastest. Other slices of a gradient may fit the tiles better, and other
  // tile plans may fit each other better.
  std::optional<Proportion> least_proportion = {};
  bool accumulate = true;          // true: gradients are added to accumulators (several micro-batches per step)
  bool split_activations = false;  // ActivationSharding::throughout
  Serialisation serialisation;
  std::int64_t rank_stride = 1;
  std::int64_t replica_stride = 1;  // matters only for statistics groups that extend over several replicas
  bool collapse = true;             // true: equal units share a row; false: each unit has a row, for comparison
  std::vector<StageBound> stage_bounds = {};  // replace `proportion` unless empty; the first begins with unit 0
  friend bool operator==(const TableKey&, const TableKey&) = default;
};

// Bytes of the forward results of earlier units that a unit or a later unit reads.
struct Boundary {
  Bytes bytes, tile;              // as stored between units, per IPU and per tile
  Bytes shard, shard_tile;        // if every IPU of the mesh keeps an equal part, per IPU and per tile
  Bytes gather_all, gather_rest;  // per IPU, after the gather: tensors gathered over all of t, or over t2 alone
  friend auto operator<=>(const Boundary&, const Boundary&) = default;
};

// Costs that all tables of one cost model and one number of compute tiles share.
struct SharedCosts {
  std::shared_ptr<ProductFronts> products;  // may be shared with other cost models of the same chip and calibration
  UpdateCosts updates;
  SharedCosts(const CostModel& model, std::int64_t tiles)
      : SharedCosts(std::make_shared<ProductFronts>(model.machine().chip, tiles, model.calibration())) {}
  explicit SharedCosts(std::shared_ptr<ProductFronts> fronts) : products(std::move(fronts)) {}
};

class UnitTable {
 public:
  UnitTable(const GraphFacts& facts, const GraphSharding& sharding, const CostModel& model, SharedCosts& shared,
            const TableKey& key, bool training);
  // Makes a table for another distance of the ranks from a table whose ranks are neighbours (rank_stride 1). Only the
  // times of mesh collectives change; nothing is lowered.
  UnitTable(const UnitTable& neighbours, std::int64_t rank_stride);
  // Makes a table from the table of another machine with the same domains (have_same_domains()), chip and calibration.
  // The cost model of the other table may no longer exist.
  UnitTable(const UnitTable& other, const CostModel& model, SharedCosts& shared);

  const TableKey& key() const { return key_; }
  std::size_t units() const { return layout_->row_of.size(); }
  const UnitRow& row(std::size_t unit) const { return rows_[static_cast<std::size_t>(layout_->row_of[unit])]; }
  // Returns the kind of a unit. Units of one kind run the same functions, with the same bound on temporary memory.
  std::int32_t kind(std::size_t unit) const { return layout_->kind_of[unit]; }
  std::size_t kinds() const { return layout_->representative.size(); }
  // Return the boundary into `unit`: bytes per IPU, bytes per tile, or all numbers. All are 0 for unit == units().
  Bytes boundary_bytes(std::size_t unit) const { return layout_->boundary[unit].bytes; }
  Bytes boundary_tile(std::size_t unit) const { return layout_->boundary[unit].tile; }
  const Boundary& boundary(std::size_t unit) const { return layout_->boundary[unit]; }
  // Returns the cost of the weight update by kind of unit, if the replicas of `group` share each update. Costs are
  // computed when first asked for, by any number of threads.
  using Updates = std::vector<const UpdateCost*>;
  const Updates& updates(GroupShape group) const;
  const UpdateCost& update(const Updates& of, std::size_t unit) const {
    return *of[static_cast<std::size_t>(layout_->kind_of[unit])];
  }
  const UpdateCost& update(std::size_t unit, GroupShape group) const { return update(updates(group), unit); }
  // Returns the function of a pass, lowered anew. Functions are not kept, since a search makes thousands of tables and
  // few programs. `group`: replicas that share the update, for Pass::update.
  Function function(std::size_t unit, Pass pass, GroupShape group = {}) const;
  std::int64_t checkpoint(std::size_t unit) const { return layout_->checkpoints[unit]; }  // checkpoint_of()
  // Returns the unit that owns the weights that `unit` borrows; -1: `unit` borrows none.
  std::int32_t lender(std::size_t unit) const { return layout_->lenders[unit]; }
  // Returns the last unit before `unit` that owns or borrows the weights that `unit` borrows; -1: `unit` borrows none.
  std::int32_t holder(std::size_t unit) const { return layout_->holders[unit]; }
  // Calls f(holder) for all earlier units that own or borrow the weights that `unit` borrows, the last first. Ends when
  // f returns false.
  template <class F>
  void for_holders(std::int64_t unit, F f) const {
    const std::int64_t owner = layout_->lenders[static_cast<std::size_t>(unit)];
    while (unit != owner && owner >= 0) {
      unit = layout_->holders[static_cast<std::size_t>(unit)];
      if (!f(unit)) return;
    }
  }
  // Units that borrow weights, ascending.
  const std::vector<std::int64_t>& borrowers() const { return layout_->borrowers; }
  // Returns the class of each unit, and of the end of the model. Units of one class have equal rows, boundaries and
  // lenders. For the end of the model only the boundary counts.
  const std::shared_ptr<const std::vector<std::int32_t>>& classes() const { return layout_->class_of; }
  const std::vector<std::size_t>& first_of_class() const { return layout_->first_of_class; }
  // Equality of runs of units. Stages of equal runs have equal time and memory. The time and memory of a stage depend
  // on the classes of its units, on shared checkpoints, and on whether the stage begins the model. A run with a
  // borrower equals no other run, since the place of the lender matters too.
  const EqualRuns& runs() const { return *layout_->runs; }
  std::int64_t tiles() const { return context_.tiles; }  // compute tiles
  // All bounds on temporary memory that lead to the same rows. If stages have bounds of their own, the bound of
  // TableKey::proportion alone.
  const Caps& caps() const { return layout_->caps; }
  const GraphFacts& facts() const { return context_.facts; }
  const GraphSharding& sharding() const { return context_.sharding; }
  const CostModel& model() const { return model_; }
  bool training() const { return training_; }

 private:
  using Held = std::array<Bytes, 3>;  // by pass: UnitContext::held
  // The part of a table that does not depend on the distance of ranks, shared by tables.
  struct Layout {
    std::vector<std::int32_t> row_of, kind_of;   // by unit
    std::vector<UnitId> representative;          // by kind: the first unit of the kind
    std::vector<Held> held;                      // by kind
    Caps caps;                                   // see caps()
    std::vector<Boundary> boundary;              // by unit, and of the end of the model
    std::vector<std::int64_t> checkpoints;       // by unit
    std::vector<std::int32_t> lenders, holders;  // by unit; -1: no borrowed weights
    std::vector<std::int64_t> borrowers;
    std::shared_ptr<const std::vector<std::int32_t>> class_of;
    std::vector<std::size_t> first_of_class;
    std::optional<EqualRuns> runs;  // none until classify() has run
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
  UnitContext context_;  // without bounds on temporary memory, which bounded() sets
  const CostModel& model_;
  TableKey key_;
  bool training_;
  std::vector<UnitRow> rows_;
  std::shared_ptr<const Layout> layout_;
  UpdateCosts& update_costs_;
  std::vector<UpdateWork> update_works_;  // by kind
  mutable GrowingMap<GroupShape, Updates, 16> updates_;
};

// Returns the floating-point operations of a unit's matrix products in one pass.
double product_flops(const GraphFacts& facts, UnitId unit, Pass pass);

// Returns estimates of an op's time on one IPU, for choosing splits. All tiles work at the multiply rate or the vector
// rate.
WorkTime work_time(const Graph& graph, const Chip& chip);
// Returns times of collectives between neighbouring IPUs, for choosing splits. All placements then have the same
// splits.
CollectiveTime collective_time(const CostModel& model, TensorParallel mesh);

// Returns the rules of sharding for tables of this key.
ShardRules shard_rules(const TableKey& key, const Chip& chip);

}  // namespace superstep
