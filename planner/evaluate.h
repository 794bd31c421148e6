// SPDX-License-Identifier: Apache-2.0
// Time and memory of a plan in closed form, from the unit tables: what the search compares by. The
// same sums as the lowered program's, without its tree: time agrees, memory is an upper bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/lower/lower.h"
#include "planner/phase_numbers.h"

namespace superstep {

// A plan without its cuts, made ready for evaluation: per class of units what a stage or phase sums up. All
// times are cycles, all memory bytes per tile unless said otherwise.
class Setting {
 public:
  // `plan` gives every field but stages, stage_ipu, phases and recompute; `phased` says which cuts will come.
  Setting(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer, bool phased);

  // Makes this a bound on both: of each number it takes the one that costs less. Time and memory of a cut are sums and
  // maxima of them, which grow with each, so that a cut that fits the other fits this and is no slower here. Both are
  // of one graph, mesh, schedule, order and groups of phases, and of equal batches. plan() and table() stay this one's.
  void relax(const Setting& other);

  const UnitTable& table() const { return *table_; }
  const Plan& plan() const { return plan_; }
  std::int64_t units() const { return n_; }
  std::int64_t limit() const { return limit_; }
  std::int64_t executable_limit() const { return executable_limit_; }
  std::int64_t ddr_limit() const { return ddr_limit_; }  // per IPU

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
  Stage stage_without_stash(std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first = true,
                            Range other = {}) const;
  void add_stash(Stage& stage, std::int64_t from_end) const;
  // `first`: the stage begins its phase. `other`: another run of units on the same IPU at the same time.
  Stage stage(std::int64_t begin, std::int64_t end, std::int64_t from_end, Recompute mode, bool first = true,
              Range other = {}) const;
  // What the last stage of a phase moves when another phase follows.
  void leave_phase(Stage& stage, std::int64_t end, bool more_phases) const;
  std::int64_t spill_cycles(
      std::int64_t weight_bytes) const;  // micro_batch_outer: accumulators of a phase out and back
  // Bytes of code that a set of table rows needs, per tile.
  std::int64_t code(std::uint64_t rows) const;

  // Phased: code is loaded with each phase instead of staying for the whole step.
  bool code_moves() const { return code_rate_ > 0; }
  // Phased: boundaries move through Streaming Memory while IO tiles take them and others compute.
  bool moves_overlap() const { return moves_overlap_; }
  // Phased: loads hide behind the neighbouring phases.
  bool overlapped() const { return overlapped_; }
  std::int64_t lending_tiles() const { return lending_tiles_; }  // of an IPU that holds what others borrow
  // Whether the stash leaves its tiles: then a larger one takes longer.
  bool stash_moves() const { return stash_rate_ > 0; }
  // Whether a pipeline's weights come in and go out with each step.
  bool weights_move() const { return weights_rate_ > 0; }
  // The most bytes of weights on an IPU that may be preloaded: what waits on its IO tiles.
  std::int64_t preload_room() const { return preload_room_; }

  std::int64_t copy_cycles(std::int64_t boundary_unit) const { return at(boundary_unit).copy; }
  std::int64_t micro_batch_fixed() const { return micro_fixed_; }
  std::int64_t cycle_fixed() const { return cycle_fixed_; }
  std::int64_t update_fixed() const { return update_fixed_; }  // latency of the update's collectives
  std::int64_t load_cycles(const Stage& stage) const;  // phased: its weights, and code that is elsewhere, onto one IPU
  std::int64_t whole_weights_cycles(
      std::int64_t weight_bytes) const;  // not phased, weights kept elsewhere: in and out once a step
  // Least cycles of one micro-batch through units [begin, end), forward and backward. Phases run every
  // forward again; else nothing is recomputed.
  std::int64_t work(std::int64_t begin, std::int64_t end) const;
  // Phased: Streaming Memory counted for weights that `unit` borrows, and the unit that owns them; -1: none.
  std::int64_t borrowed_ddr(std::int64_t unit) const { return at(unit).borrowed_ddr; }
  std::int64_t borrowed_lent(std::int64_t unit) const { return at(unit).borrowed_lent; }
  std::int64_t lender(std::int64_t unit) const { return table_->lender(static_cast<std::size_t>(unit)); }
  // Phased: Streaming Memory that the gradient of what `unit` borrows takes on its way to the owner's phase.
  std::int64_t tied_gradient_ddr(std::int64_t unit) const { return at(unit).tied_ddr; }
  // Joining the gradients of a tied weight, and sending the new value back: per step, all wait.
  std::int64_t tied_cycles(const Tie& tie) const;
  // A step of `cycles` with what its inputs take: no step is faster than reading them over the network, and host
  // programs may copy them first.
  std::int64_t with_host(std::int64_t cycles, std::int64_t micro_batches) const;
  // Least bytes that a unit alone needs on a tile, whatever its stage.
  std::int64_t least_memory(std::int64_t unit) const {
    return resident(unit) + std::max(at(unit).forward_peak, at(unit).backward_peak);
  }
  std::int64_t resident(std::int64_t unit) const { return at(unit).resident; }
  // Phased: what a bound on phases asks, whether it fits left out.
  PhaseNumbers::Unit phase_unit(std::int64_t unit) const;

 private:
  // cycles = fixed + bytes * per_byte, for the transfers whose bytes are only known stage by stage.
  struct Linear {
    double fixed = 0, per_byte = 0;
    std::int64_t of(std::int64_t bytes) const {
      return bytes == 0 ? 0 : static_cast<std::int64_t>(fixed + per_byte * static_cast<double>(bytes));
    }
  };
  // A unit and the boundary in front of it.
  struct PerUnit {
    std::int64_t forward, backward, again;     // cycles; again: forward as a recompute, without its gather
    std::int64_t gather;                       // cycles: of sharded weights before the unit runs
    std::int64_t host, update;                 // cycles per micro-batch, per step
    std::int64_t copy, move, join;             // cycles: its boundary to the next stage, through memory, from shards
    std::int64_t resident, borrowed_resident;  // bytes per tile
    std::int64_t kept, crossing, forward_peak, keeping_peak, backward_peak;
    std::int64_t joined_weights, gradient;      // bytes per tile: weights joined while it runs; its gradients
    std::int64_t feed, feed_waiting, boundary;  // bytes per tile; feed and boundary: of one stash entry
    std::int64_t weights, borrowed;             // bytes per IPU
    std::int64_t feed_ipu, kept_ipu, crossing_ipu, entry_boundary;  // bytes per IPU
    std::int64_t ddr, borrowed_ddr, lent, borrowed_lent;            // bytes per IPU
    std::int64_t tied_ddr;                                          // bytes per IPU
    std::int64_t update_peak;                                       // bytes per tile
    std::int32_t row;                                               // of code
  };
  static std::int64_t PerUnit::*const kNumbers[];
  struct CodeOfRow {
    std::int64_t exchange = 0;  // bytes
    VertexSet vertices;
  };

  const PerUnit& at(std::int64_t unit) const {
    return unit_[static_cast<std::size_t>((*class_of_)[static_cast<std::size_t>(unit)])];
  }
  PerUnit per_unit(std::size_t unit, const OptimizerSpec& optimizer) const;
  void add_boundary(PerUnit& p, std::size_t unit) const;
  void add_training(PerUnit& p, std::size_t unit, const OptimizerSpec& optimizer) const;
  Linear collective(CollectiveKind kind, GroupShape group) const;
  void price_update();
  std::int64_t update_cycles(std::size_t unit, std::int64_t state) const;  // state: bytes per IPU
  void count_code();
  void split_classes(const Setting& other);
  double rate(Location where) const;  // bytes per second from or to outside of the processor; 0: in the processor
  std::int64_t moved(std::int64_t bytes, double rate) const;         // cycles
  std::int64_t streaming(std::int64_t bytes, Location where) const;  // cycles
  std::int64_t block_end(std::int64_t unit, std::int64_t end, Recompute mode) const;
  void add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const;
  void add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, Range other) const;
  void add_entry(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode) const;

  const UnitTable* table_;
  Plan plan_;
  std::int64_t n_, limit_, executable_limit_, ddr_limit_, tiles_;
  std::int64_t lending_tiles_;
  std::int64_t micro_fixed_, cycle_fixed_, update_fixed_ = 0;
  bool training_, phased_;
  bool goes_back_at_once_;                // the last stage goes straight from its last block's forward to its backward
  bool joins_weights_, joins_gradients_;  // a place on each tile for the largest unit's
  bool moves_overlap_, overlapped_;
  bool stash_ddr_, stash_lent_;  // what of the stash is counted outside the tiles
  std::int64_t stash_entries_;   // the most that are on the tiles at once
  std::int64_t preload_room_;
  double stash_rate_, weights_rate_, code_rate_, spill_rate_;  // bytes per second; 0: nothing moves
  std::int64_t weight_shards_ = 1, spill_shards_ = 1;
  bool relaxed_ = false;
  std::vector<PerUnit> unit_;                                  // by class
  std::shared_ptr<const std::vector<std::int32_t>> class_of_;  // of units, and of the end
  std::vector<CodeOfRow> code_of_row_;                         // by row, 64 at most: more rows share
  Linear load_, gather_, scatter_, per_gradient_, per_weight_;
};

struct Estimate {
  std::int64_t cycles = 0;     // of one step
  std::int64_t tile_peak = 0;  // fullest tile
  std::int64_t executable = 0;
  std::int64_t ddr = 0;  // of the IPU that holds most
  bool fits(const Setting& s) const {
    return tile_peak <= s.limit() && executable <= s.executable_limit() && ddr <= s.ddr_limit();
  }
};

// One fully specified plan. No allocation.
Estimate evaluate(const Setting& setting, const Plan& plan);

}  // namespace superstep
