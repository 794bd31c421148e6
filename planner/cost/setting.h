// SPDX-License-Identifier: Apache-2.0
// A plan without its cuts, and what stages and phases of it take: the same sums as the lowered program's, without its
// tree. Time agrees with it, memory is an upper bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/lower/lower.h"
#include "planner/cost/phase_numbers.h"
#include "planner/cost/shard_costs.h"

namespace superstep {

// Of a unit and the boundary in front of it.
struct UnitNumbers {
  std::int64_t forward = 0, backward = 0, again = 0;  // cycles; again: forward as a recompute, without its gather
  std::int64_t gather = 0;                            // cycles: of sharded weights before the unit runs
  std::int64_t host = 0, update = 0;                  // cycles per micro-batch, per step
  std::int64_t copy = 0, move = 0, join = 0;  // cycles: its boundary to the next stage, through memory, from shards
  std::int64_t resident = 0, borrowed_resident = 0;  // bytes per tile
  std::int64_t kept = 0, crossing = 0, forward_peak = 0, keeping_peak = 0, backward_peak = 0;
  std::int64_t joined_weights = 0, gradient = 0;          // bytes per tile: weights joined while it runs; its gradients
  std::int64_t feed = 0, feed_waiting = 0, boundary = 0;  // bytes per tile; feed and boundary: of one stash entry
  std::int64_t weights = 0, borrowed = 0;                 // bytes per IPU
  std::int64_t feed_ipu = 0, kept_ipu = 0, crossing_ipu = 0, entry_boundary = 0;  // bytes per IPU
  std::int64_t ddr = 0, borrowed_ddr = 0, lent = 0, borrowed_lent = 0;            // bytes per IPU
  std::int64_t tied_ddr = 0;                                                      // bytes per IPU
  std::int64_t update_peak = 0;                                                   // bytes per tile
  std::int32_t row = 0;                                                           // of code
  friend bool operator==(const UnitNumbers&, const UnitNumbers&) = default;
};

// Code of a row of the table, which all its units share.
struct CodeOfRow {
  std::int64_t exchange = 0;  // bytes
  VertexSet vertices;
  friend bool operator==(const CodeOfRow&, const CodeOfRow&) = default;
};

// A plan without its cuts, made ready for evaluation: per class of units what a stage or phase sums up. All
// times are cycles, all memory bytes per tile unless said otherwise.
//
// Or a bound on several plans (SettingParts): of each number the one that costs least. Time and memory of a cut are
// sums and maxima of them, which grow with each, so that a cut that fits one of the plans fits the bound and is no
// slower in it. plan() and table() are then those of one of them.
class Setting {
 public:
  // `plan` gives every field but stages, stage_ipu, phases and recompute; `phased` says which cuts will come.
  Setting(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer, bool phased);

  const UnitTable& table() const { return *table_; }
  const Plan& plan() const { return plan_; }
  std::int64_t units() const { return n_; }
  std::int64_t limit() const { return limit_; }
  std::int64_t executable_limit() const { return executable_limit_; }
  std::int64_t ddr_limit() const { return ddr_limit_; }  // per IPU
  bool phased() const { return phased_; }
  // Units of one class have equal numbers; units() has one too, of its boundary alone.
  std::int32_t class_of(std::int64_t unit) const { return (*class_of_)[static_cast<std::size_t>(unit)]; }

  // One stage: units [begin, end), the from_end-th from the end of its pipeline.
  struct Stage {
    std::int64_t forward = 0, backward = 0;            // cycles per micro-batch, recompute in backward
    std::int64_t move_forward = 0, move_backward = 0;  // phased: boundaries through Streaming Memory
    std::int64_t busy_forward(bool overlap) const {
      return overlap ? std::max(forward, move_forward) : forward + move_forward;
    }
    std::int64_t busy_backward(bool overlap) const {
      return overlap ? std::max(backward, move_backward) : backward + move_backward;
    }
    std::int64_t always = 0;                // always-live bytes, code excluded
    std::int64_t transient = 0;             // peak of what is not always live
    std::int64_t update = 0;                // cycles per step
    std::int64_t ddr = 0;                   // bytes per IPU
    std::int64_t lent = 0;                  // bytes per IPU in another one's tiles, which lends as much
    std::int64_t weights = 0;               // bytes of the stage's weights on one IPU
    std::uint64_t rows = 0;                 // table rows it runs: its code
    std::int64_t entry = 0, entry_ipu = 0;  // one stash entry, per tile and per IPU
  };
  // The same but for the stash, which alone depends on how far from the end the stage is; `is_last`:
  // from_end is 0. add_stash() completes it.
  Stage stage_without_stash(std::int64_t begin, std::int64_t end, bool is_last, Recompute mode,
                            bool first = true) const;
  void add_stash(Stage& stage, std::int64_t from_end) const {
    const Stash stash = stash_of(stage, from_end);
    stage.always += stash.always, stage.ddr += stash.ddr, stage.lent += stash.lent;
  }
  // What it adds.
  struct Stash {
    std::int64_t always = 0, ddr = 0, lent = 0;
  };
  Stash stash_of(const Stage& stage, std::int64_t from_end) const {
    if (phased_) return {};
    Stash stash;
    const std::int64_t depth = training_ ? stash_depth(plan_.schedule, from_end) : 0;
    if (stash_lent_) stash.lent = stage.entry_ipu * depth;
    if (stage.lent + stash.lent > 0) stash.always = ceil_div(stage.lent + stash.lent, tiles_);
    stash.always += stage.entry * std::min(depth, stash_entries_);
    if (stash_ddr_) stash.ddr = stage.entry_ipu * depth;
    return stash;
  }
  // Bytes per tile that a stage of units [begin, end) keeps for the weights and gradients of its largest unit.
  struct Places {
    std::int64_t weights = 0, gradients = 0;
  };
  Places places(std::int64_t begin, std::int64_t end) const;
  // Turns a stage alone on its IPU into one beside another, the places of both given: it keeps what exceeds those of
  // an earlier one, and borrows from it for nothing.
  void stand_beside(Stage& stage, Range own, const Places& places, Range other, const Places& there) const;
  // Alone on its IPU; `first`: the stage begins its phase.
  Stage stage(std::int64_t begin, std::int64_t end, std::int64_t from_end, Recompute mode, bool first = true) const;
  // What the last stage of a phase moves when another phase follows.
  void leave_phase(Stage& stage, std::int64_t end, bool more_phases) const;
  std::int64_t spill_cycles(
      std::int64_t weight_bytes) const;  // micro_batch_outer: accumulators of a phase out and back
  // Bytes of code that a set of table rows needs, per tile.
  std::int64_t code(std::uint64_t rows) const;
  // Phased: bytes per IPU of Streaming Memory, or of another IPU's tiles, that it takes where it is kept there.
  std::int64_t stored_code(std::uint64_t rows) const { return stores_code() ? code(rows) * tiles_ : 0; }
  bool stores_code() const { return code_ddr_; }
  std::int64_t lent_code(std::uint64_t rows) const { return lends_code() ? code(rows) * tiles_ : 0; }
  bool lends_code() const { return code_lent_; }
  // Phased: bytes per IPU that a unit, or all of them, keep on other IPUs' tiles, which keep as much on theirs, however
  // they are cut; code, and boundaries in front of stages, come on top.
  std::int64_t lent(std::int64_t unit) const { return at(unit).lent; }
  std::int64_t lent() const;
  // Phased: bytes per IPU of the smallest boundary in front of a phase, of all micro-batches, where other IPUs keep it.
  std::int64_t least_stored() const;
  // Phased: whether other IPUs' tiles keep anything.
  bool lends() const { return stash_lent_ || code_lent_ || lent() > 0; }

  // Phased: code is loaded with each phase instead of staying for the whole step.
  bool code_moves() const { return code_moves_; }
  // Phased: boundaries move through Streaming Memory while IO tiles take them and others compute.
  bool moves_overlap() const { return moves_overlap_; }
  // Phased: weights, or anything, come in beside the phase before.
  bool weights_come_ahead() const { return weights_ahead_; }
  bool loads_ahead() const { return weights_ahead_ || (code_moves_ && code_ahead_); }
  std::int64_t tiles() const { return tiles_; }  // that compute
  // Whether the stash leaves its tiles: then a larger one takes longer.
  bool stash_moves() const { return stash_rate_ > 0; }
  // Whether a pipeline's weights come in and go out with each step.
  bool weights_move() const { return weights_rate_ > 0; }
  // Phased: bytes that wait on an IO tile, preloaded, until the phase before this stage's is done; `code`: of the
  // stage, per tile, where that moves. 0: nothing waits.
  std::int64_t waiting(const Stage& stage, std::int64_t code) const;
  bool preloads() const { return weights_wait_ || code_waits_; }

  std::int64_t copy_cycles(std::int64_t boundary_unit) const { return at(boundary_unit).copy; }
  std::int64_t micro_batch_fixed() const { return micro_fixed_; }
  std::int64_t cycle_fixed() const { return cycle_fixed_; }
  std::int64_t update_fixed() const { return update_fixed_; }  // latency of the update's collectives
  // Phased: cycles of a stage's weights onto one IPU, and its code, so many bytes per tile, where that moves.
  struct Loads {
    std::int64_t ahead = 0;    // beside the phase before
    std::int64_t at_once = 0;  // when the phase begins
  };
  Loads loads(const Stage& stage, std::int64_t code) const;
  std::int64_t whole_weights_cycles(
      std::int64_t weight_bytes) const;  // not phased, weights kept elsewhere: in and out once a step
  // Least cycles of one micro-batch through units [begin, end), forward and backward. Phases run every
  // forward again; else nothing is recomputed.
  std::int64_t work(std::int64_t begin, std::int64_t end) const;
  // What a unit of a pipeline's stage takes more where it runs its forward again.
  std::int64_t again(std::int64_t unit) const { return training_ ? at(unit).again : 0; }
  // A unit's part of a stage's update.
  std::int64_t update(std::int64_t unit) const { return at(unit).update; }
  // Phased: Streaming Memory counted for weights that `unit` borrows, and the unit that owns them; -1: none.
  std::int64_t borrowed_ddr(std::int64_t unit) const { return at(unit).borrowed_ddr; }
  std::int64_t borrowed_lent(std::int64_t unit) const { return at(unit).borrowed_lent; }
  std::int64_t lender(std::int64_t unit) const { return table_->lender(static_cast<std::size_t>(unit)); }
  // Whether a stage that begins at `begin` has what `unit` of it borrows from no unit before.
  bool borrows(std::int64_t unit, std::int64_t begin) const {
    return table_->holder(static_cast<std::size_t>(unit)) < begin && lender(unit) >= 0;
  }
  // Phased: Streaming Memory that the gradient of what `unit` borrows takes on its way to the owner's phase.
  std::int64_t tied_gradient_ddr(std::int64_t unit) const { return at(unit).tied_ddr; }
  // Joining the gradients of a tied weight, and sending the new value back: per step, all wait.
  std::int64_t tied_cycles(const Tie& tie) const;
  // A step of `cycles` with what its inputs take: no step is faster than reading them over the network, and host
  // programs may copy them first.
  std::int64_t with_host(std::int64_t cycles, std::int64_t micro_batches) const {
    return with_host(cycles, micro_batches, fed());
  }
  std::int64_t with_host(std::int64_t cycles, std::int64_t micro_batches, std::int64_t fed) const;
  std::int64_t fed() const;  // bytes of the inputs of one micro-batch
  // Least bytes that a unit alone needs on a tile, whatever its stage.
  std::int64_t least_memory(std::int64_t unit) const {
    return resident(unit) + std::max(at(unit).forward_peak, at(unit).backward_peak);
  }
  std::int64_t resident(std::int64_t unit) const { return at(unit).resident; }
  // Of the same table, equal in all that cuts are found by.
  friend bool operator==(const Setting&, const Setting&) = default;
  std::size_t hash() const;
  // Phased: what a bound on phases asks, whether it fits left out; `first` of the model.
  PhaseNumbers::Unit phase_unit(std::int64_t unit, bool first) const;

 private:
  friend class SettingParts;
  Setting() = default;

  const UnitNumbers& at(std::int64_t unit) const { return unit_[static_cast<std::size_t>(class_of(unit))]; }
  std::int64_t moved(std::int64_t bytes, double rate) const;  // cycles
  std::int64_t block_end(std::int64_t unit, std::int64_t end, Recompute mode) const;
  void add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const;
  void add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, bool first) const;
  void add_stored_boundary(Stage& s, std::int64_t begin) const;
  // Phased: micro-batches that run through a phase before the next one.
  std::int64_t stored() const { return plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1; }
  void add_entry(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode) const;

  const UnitTable* table_ = nullptr;
  Plan plan_;
  std::int64_t n_ = 0, limit_ = 0, executable_limit_ = 0, ddr_limit_ = 0, tiles_ = 0;
  std::int64_t micro_fixed_ = 0, cycle_fixed_ = 0, update_fixed_ = 0;
  bool training_ = false, phased_ = false;
  bool goes_back_at_once_ = false;  // the last stage goes straight from its last block's forward to its backward
  bool joins_weights_ = false, joins_gradients_ = false;  // a place on each tile for the largest unit's
  bool moves_overlap_ = false;
  bool weights_ahead_ = false, code_ahead_ = false;                 // come beside the phase before
  bool weights_wait_ = false, code_waits_ = false;                  // and until it is done wait on IO tiles
  bool stash_ddr_ = false, stash_lent_ = false;                     // what of the stash is counted outside the tiles
  bool code_moves_ = false, code_ddr_ = false, code_lent_ = false;  // whether code is
  std::int64_t stash_entries_ = 0;                                  // the most that are on the tiles at once
  // Bytes per second; 0: nothing moves.
  double stash_rate_ = 0, weights_rate_ = 0, new_weights_rate_ = 0, code_rate_ = 0, spill_rate_ = 0;
  std::int64_t weight_shards_ = 1, spill_shards_ = 1;
  std::vector<UnitNumbers> unit_;                              // by class
  std::shared_ptr<const std::vector<std::int32_t>> class_of_;  // of units, and of the end
  std::vector<CodeOfRow> code_of_row_;                         // by row, 64 at most: more rows share
  LinearCycles load_, scatter_;
};

}  // namespace superstep
