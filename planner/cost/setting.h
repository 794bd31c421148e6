// SPDX-License-Identifier: Apache-2.0
// A plan without its cuts, and the time and memory of its stages and phases. The sums are those of the lowered program,
// without the program's tree. Times agree with the lowered program, memory is an upper bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/lower/lower.h"
#include "planner/cost/phase_numbers.h"
#include "planner/cost/shard_costs.h"

namespace superstep {

// Numbers of a unit and of the boundary in front of the unit.
struct UnitNumbers {
  // Cycles per micro-batch. `forward` and `backward` include collectives of sharded weights and gradients. `again`: the
  // forward pass as a recompute, without gathering weights.
  std::int64_t forward = 0, backward = 0, again = 0;
  // Cycles per micro-batch: gathers sharded weights before the unit runs.
  std::int64_t gather = 0;
  // Cycles: host input and output per micro-batch, update per step.
  std::int64_t host = 0, update = 0;
  // Cycles of the boundary: copied to the next stage, moved to or from memory outside the tiles, joined from shards.
  std::int64_t copy = 0, move = 0, join = 0;
  // Bytes per tile that stay for the whole step, or for the phase. Borrowed: of tied weights that another unit owns.
  std::int64_t resident = 0, borrowed_resident = 0;
  // Bytes per tile. Kept: what the unit's backward pass reads. Crossing: further results that later units read. Peaks
  // of live and temporary memory: of the forward pass, of a forward pass that keeps results, of the backward pass.
  std::int64_t kept = 0, crossing = 0, forward_peak = 0, keeping_peak = 0, backward_peak = 0;
  // Bytes per tile: whole weights, joined from shards while the unit runs; whole gradients of the unit.
  std::int64_t joined_weights = 0, gradient = 0;
  // Bytes per tile: graph inputs in one stash entry, buffers of inputs and results, boundary in one stash entry.
  std::int64_t feed = 0, host_waiting = 0, boundary = 0;
  // Bytes per IPU: weights that the unit owns, and weights that the unit borrows.
  std::int64_t weights = 0, borrowed = 0;
  // Bytes per IPU: feed, inputs and results, kept, crossing and boundary.
  std::int64_t feed_ipu = 0, host_ipu = 0, kept_ipu = 0, crossing_ipu = 0, boundary_ipu = 0;
  // Bytes per IPU kept in Streaming Memory, and on remote tiles.
  std::int64_t ddr = 0, borrowed_ddr = 0, remote_tile = 0, borrowed_remote_tile = 0;
  // Bytes per IPU of Streaming Memory for gradients of borrowed weights, on their way to the owner's phase.
  std::int64_t tied_ddr = 0;
  // Bytes per tile: peak of live and temporary memory during the update.
  std::int64_t update_peak = 0;
  // Index of the unit's code in Setting::code_of_row_.
  std::int32_t row = 0;
  friend bool operator==(const UnitNumbers&, const UnitNumbers&) = default;
};

// Code of a table row, shared by all units of the row.
struct CodeOfRow {
  std::int64_t exchange = 0;  // bytes per tile of exchange code
  VertexSet vertices;         // kinds of vertex, whose code is counted once per IPU
  friend bool operator==(const CodeOfRow&, const CodeOfRow&) = default;
};

// A plan without its cuts, ready for evaluation: for each class of units the numbers that stages and phases sum up.
// Times are cycles. Memory is bytes per tile unless said otherwise.
//
// A Setting may also be a bound on several plans (SettingParts). Each number is then the least of all these plans. Time
// and memory of a cut are sums and maxima of such numbers, and grow with each number. A cut that fits one of the plans
// also fits the bound, and is no slower there. The functions plan() and table() then return those of one of the plans.
class Setting {
 public:
  // `plan` gives every field but stages, stage_ipu, phases and recompute. `phased`: the cuts will be into phases. The
  // table must outlive the setting.
  Setting(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer, bool phased);

  const UnitTable& table() const { return *table_; }
  const Plan& plan() const { return plan_; }
  // Returns the bound on temporary memory, in bytes per tile; of many bounds the tightest.
  Bytes least_temporary_cap() const;
  std::int64_t units() const { return n_; }
  // Limits of the machine: bytes per tile, bytes of code per tile, bytes of Streaming Memory per IPU.
  std::int64_t limit() const { return limit_; }
  std::int64_t executable_limit() const { return executable_limit_; }
  std::int64_t ddr_limit() const { return ddr_limit_; }
  bool phased() const { return phased_; }
  // Returns the class of a unit: units of one class have equal numbers. The argument may be units(): the end of the
  // model has a class of its own.
  std::int32_t class_of(std::int64_t unit) const { return (*class_of_)[static_cast<std::size_t>(unit)]; }

  // Numbers of one stage: units [begin, end), the from_end-th stage from the end of its pipeline.
  struct Stage {
    std::int64_t forward = 0, backward = 0;            // cycles per micro-batch; backward includes the recompute
    std::int64_t move_forward = 0, move_backward = 0;  // phased: cycles per micro-batch that boundaries move
    // Cycles of a pass with its moves. `overlap`: the moves run beside the work.
    std::int64_t busy_forward(bool overlap) const {
      return overlap ? std::max(forward, move_forward) : forward + move_forward;
    }
    std::int64_t busy_backward(bool overlap) const {
      return overlap ? std::max(backward, move_backward) : backward + move_backward;
    }
    std::int64_t always = 0;                // bytes per tile that are always live, code excluded
    std::int64_t transient = 0;             // bytes per tile: the peak of what is not always live
    std::int64_t update = 0;                // cycles per step
    std::int64_t ddr = 0;                   // bytes per IPU of Streaming Memory
    std::int64_t remote_tile = 0;           // bytes per IPU on remote tiles; the IPU holds as much for another IPU
    std::int64_t weights = 0;               // bytes per IPU of the stage's weights
    std::uint64_t rows = 0;                 // bit set of the table rows that the stage runs: see code()
    std::int64_t entry = 0, entry_ipu = 0;  // bytes of one stash entry: per tile, per IPU
  };
  // Returns a stage without its stash, which add_stash() adds. Only the stash depends on how far the stage is from the
  // end. `is_last`: the stage is the last of its pipeline. `first`: the stage begins its phase.
  Stage stage_without_stash(std::int64_t begin, std::int64_t end, bool is_last, Recompute mode,
                            bool first = true) const;
  void add_stash(Stage& stage, std::int64_t from_end) const {
    const Stash stash = stash_of(stage, from_end);
    stage.always += stash.always, stage.ddr += stash.ddr, stage.remote_tile += stash.remote_tile;
  }
  // Bytes that a stash adds to the stage's fields of the same names.
  struct Stash {
    std::int64_t always = 0, ddr = 0, remote_tile = 0;
  };
  // Returns the stash of a stage that is the from_end-th from the end of its pipeline. Also adds to `always` what the
  // IPU holds for another IPU: as many bytes as it keeps on remote tiles. Phased: nothing.
  Stash stash_of(const Stage& stage, std::int64_t from_end) const {
    if (phased_) return {};
    Stash stash;
    const std::int64_t depth = training_ ? stash_depth(plan_.schedule, from_end) : 0;
    if (stash_remote_tile_) stash.remote_tile = stage.entry_ipu * depth;
    if (stage.remote_tile + stash.remote_tile > 0)
      stash.always = ceil_div(stage.remote_tile + stash.remote_tile, tiles_);
    stash.always += stage.entry * std::min(depth, stash_entries_);
    if (stash_ddr_) stash.ddr = stage.entry_ipu * depth;
    return stash;
  }
  // Bytes per tile that a stage reserves for whole weights and whole gradients of its largest unit. 0: they are not
  // sharded or moved, so nothing is reserved.
  struct Places {
    std::int64_t weights = 0, gradients = 0;
  };
  // Returns the places of a stage of units [begin, end).
  Places places(std::int64_t begin, std::int64_t end) const;
  // Turns a stage of units `own`, alone on its IPU group, into a stage beside another stage of units `other`. The
  // places of both are given. The later stage reserves only what exceeds the places of the earlier stage. Weights that
  // the other stage has are borrowed for nothing.
  void stand_beside(Stage& stage, Range own, const Places& places, Range other, const Places& there) const;
  // Returns a stage alone on its IPU group, with its stash. `first`: the stage begins its phase.
  Stage stage(std::int64_t begin, std::int64_t end, std::int64_t from_end, Recompute mode, bool first = true) const;
  // Adds the moves of the boundary behind the last stage of a phase, in front of unit `end`. `more_phases` false: adds
  // nothing.
  void leave_phase(Stage& stage, std::int64_t end, bool more_phases) const;
  // micro_batch_outer: cycles per micro-batch in which the accumulators of a phase leave the processor and come back.
  // `weight_bytes`: bytes per IPU.
  std::int64_t spill_cycles(std::int64_t weight_bytes) const;
  // Returns the bytes per tile of the code that a set of table rows needs, control code included.
  std::int64_t code(std::uint64_t rows) const;
  // Phased: bytes per IPU that code takes in Streaming Memory, or on remote tiles; 0: code is kept elsewhere.
  std::int64_t stored_code(std::uint64_t rows) const { return stores_code() ? code(rows) * tiles_ : 0; }
  bool stores_code() const { return code_ddr_; }
  std::int64_t remote_tile_code(std::uint64_t rows) const {
    return keeps_code_on_remote_tile() ? code(rows) * tiles_ : 0;
  }
  bool keeps_code_on_remote_tile() const { return code_remote_tile_; }
  // Phased: bytes per IPU that a unit, or all units, keep on remote tiles, whatever the cut. The IPU's own tiles hold
  // as much for other IPUs. Code, and boundaries in front of stages, come on top.
  std::int64_t remote_tile(std::int64_t unit) const { return at(unit).remote_tile; }
  std::int64_t remote_tile() const;
  // Phased: bytes per IPU of the smallest boundary that may be in front of a phase, for all micro-batches that are
  // stored at once. 0: boundaries are not on remote tiles.
  std::int64_t least_stored_boundary() const;
  // Phased: true if anything is kept on remote tiles.
  bool uses_remote_tile() const { return stash_remote_tile_ || code_remote_tile_ || remote_tile() > 0; }

  // Phased: true if code is loaded with each phase instead of staying for the whole step.
  bool code_moves() const { return code_moves_; }
  // Phased: true if IO tiles move boundaries while the other tiles compute.
  bool moves_overlap() const { return moves_overlap_; }
  // Phased: true if weights are loaded while the phase before runs.
  bool weights_come_ahead() const { return weights_ahead_; }
  // Phased: true if weights or code are loaded while the phase before runs.
  bool loads_ahead() const { return weights_ahead_ || (code_moves_ && code_ahead_); }
  std::int64_t tiles() const { return tiles_; }  // tiles of an IPU that compute
  // True if the stash leaves its tiles, so that a larger stash takes longer.
  bool stash_moves() const { return stash_rate_ > 0; }
  // True if a pipeline's weights are kept outside of the processor between steps.
  bool weights_move() const { return weights_rate_ > 0; }
  // Phased: preloaded bytes per IO tile that wait until the phase before the stage's phase is done. `code`: bytes per
  // tile of the stage's code, counted where code moves. 0: nothing waits.
  std::int64_t waiting(const Stage& stage, std::int64_t code) const;
  // True if weights or code are preloaded on IO tiles.
  bool preloads() const { return weights_wait_ || code_waits_; }

  // Cycles that the boundary in front of a unit takes to the next stage.
  std::int64_t copy_cycles(std::int64_t boundary_unit) const { return at(boundary_unit).copy; }
  // Fixed cycles per micro-batch, and per pipeline cycle where there are several stages.
  std::int64_t micro_batch_fixed() const { return micro_fixed_; }
  std::int64_t cycle_fixed() const { return cycle_fixed_; }
  // Fixed cycles of a micro-batch's pass through a phase.
  std::int64_t pass_fixed() const { return micro_fixed_ + pass_fixed_; }
  std::int64_t update_fixed() const { return update_fixed_; }  // cycles: latency of the update's collectives
  // Phased: cycles to load a stage onto its IPU.
  struct Loads {
    std::int64_t ahead = 0;    // loads that run while the phase before runs
    std::int64_t at_once = 0;  // loads that run when the phase begins
  };
  // Returns the loads of a stage's weights and, where code moves, of its code. `code`: bytes per tile.
  Loads loads(const Stage& stage, std::int64_t code) const;
  // Pipelines: cycles per step to load weights that are kept outside of the processor; else 0. The update counts the
  // way back. `weight_bytes`: bytes per IPU.
  std::int64_t weight_load_cycles(std::int64_t weight_bytes) const;
  // Least cycles of one micro-batch through units [begin, end), both passes. Phases run every forward pass again;
  // pipelines are counted without recompute.
  std::int64_t work(std::int64_t begin, std::int64_t end) const;
  // Cycles per micro-batch that the recompute of a unit adds in a pipeline; 0 in inference.
  std::int64_t again(std::int64_t unit) const { return training_ ? at(unit).again : 0; }
  // Cycles per step that a unit adds to its stage's update.
  std::int64_t update(std::int64_t unit) const { return at(unit).update; }
  // Phased: bytes per IPU of Streaming Memory, or on remote tiles, for the weights that `unit` borrows.
  std::int64_t borrowed_ddr(std::int64_t unit) const { return at(unit).borrowed_ddr; }
  std::int64_t borrowed_remote_tile(std::int64_t unit) const { return at(unit).borrowed_remote_tile; }
  // Returns the unit that owns the weights that `unit` borrows; -1: `unit` borrows none.
  std::int64_t lender(std::int64_t unit) const { return table_->lender(static_cast<std::size_t>(unit)); }
  // True if `unit` borrows weights that no earlier unit of its stage has. `begin`: the first unit of the stage.
  bool borrows(std::int64_t unit, std::int64_t begin) const {
    return table_->holder(static_cast<std::size_t>(unit)) < begin && lender(unit) >= 0;
  }
  // Phased: bytes per IPU of Streaming Memory for gradients of the weights that `unit` borrows, on their way to the
  // owner's phase.
  std::int64_t tied_gradient_ddr(std::int64_t unit) const { return at(unit).tied_ddr; }
  // Cycles per step to join the gradients of a tied weight and to send the new value back; all IPUs wait meanwhile. 0
  // in inference, or where owner and borrower are together.
  std::int64_t tied_cycles(const Tie& tie) const;
  // Returns the cycles of a step with its host input and output. No step is faster than their way over the network, and
  // host programs may copy them first. `cycles`: the step without that. `hosted`: host_bytes().
  std::int64_t with_host(std::int64_t cycles, std::int64_t micro_batches) const {
    return with_host(cycles, micro_batches, host_bytes());
  }
  std::int64_t with_host(std::int64_t cycles, std::int64_t micro_batches, std::int64_t hosted) const;
  // Bytes of the inputs and results of one micro-batch, summed over one IPU of each IPU group.
  std::int64_t host_bytes() const;
  // Least bytes per tile that a unit needs alone, whatever its stage, code excluded.
  std::int64_t least_memory(std::int64_t unit) const {
    return resident(unit) + std::max(at(unit).forward_peak, at(unit).backward_peak);
  }
  std::int64_t resident(std::int64_t unit) const { return at(unit).resident; }
  // True if both settings have the same table and equal numbers and plans, so that they have the same cuts.
  friend bool operator==(const Setting&, const Setting&) = default;
  std::size_t hash() const;
  // Phased: returns the numbers of a unit for PhaseRest; the caller sets Unit::fits. `first`: first unit of the model.
  PhaseNumbers::Unit phase_unit(std::int64_t unit, bool first) const;

 private:
  friend class SettingParts;
  Setting() = default;

  const UnitNumbers& at(std::int64_t unit) const { return unit_[static_cast<std::size_t>(class_of(unit))]; }
  // Cycles to move bytes at a rate in bytes per second; 0 at rate 0.
  std::int64_t moved(std::int64_t bytes, double rate) const;
  // Returns where the block of units from `unit` on ends. A block is recomputed together: a layer, or the whole stage.
  std::int64_t block_end(std::int64_t unit, std::int64_t end, Recompute mode) const;
  void add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const;
  void add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, bool first) const;
  void add_stored_boundary(Stage& s, std::int64_t begin) const;
  // Phased: micro-batches that run through a phase before the next phase begins.
  std::int64_t stored_micro_batches() const {
    return plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1;
  }
  void add_entry(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode) const;

  const UnitTable* table_ = nullptr;
  Plan plan_;
  std::int64_t n_ = 0, limit_ = 0, executable_limit_ = 0, ddr_limit_ = 0, tiles_ = 0;  // n_: units
  std::int64_t micro_fixed_ = 0, cycle_fixed_ = 0, pass_fixed_ = 0, update_fixed_ = 0;
  bool training_ = false, phased_ = false;
  // True if the backward pass of the last stage's last block follows its forward pass at once, without a recompute.
  bool goes_back_at_once_ = false;
  // True if each tile reserves a place for whole weights, or whole gradients, of the largest unit.
  bool joins_weights_ = false, joins_gradients_ = false;
  bool moves_overlap_ = false;
  bool weights_ahead_ = false, code_ahead_ = false;     // loaded while the phase before runs
  bool weights_wait_ = false, code_waits_ = false;      // loaded onto IO tiles, and wait there for the phase to begin
  bool stash_ddr_ = false, stash_remote_tile_ = false;  // the stash counts as Streaming Memory, as remote tiles
  // True if code leaves the tiles between phases, is kept in Streaming Memory, is kept on remote tiles.
  bool code_moves_ = false, code_ddr_ = false, code_remote_tile_ = false;
  std::int64_t stash_entries_ = 0;  // most stash entries that are on the tiles at once
  // Rates in bytes per second: stash, weights of a pipeline, new weights, code, spilled accumulators; 0: nothing moves.
  double stash_rate_ = 0, weights_rate_ = 0, new_weights_rate_ = 0, code_rate_ = 0, spill_rate_ = 0;
  std::int64_t weight_shards_ = 1, spill_shards_ = 1;
  std::vector<UnitNumbers> unit_;                              // by class
  std::shared_ptr<const std::vector<std::int32_t>> class_of_;  // by unit, with one entry more for the end of the model
  std::vector<CodeOfRow> code_of_row_;  // by UnitNumbers::row; 64 at most, more rows share entries
  LinearCycles load_, scatter_;         // cycles to load weights, and to scatter gradients, by bytes per IPU
};

}  // namespace superstep
