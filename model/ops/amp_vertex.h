// SPDX-License-Identifier: Apache-2.0
// Cycles of one call of the matrix unit (AMP) on a tile. Two forms: what was measured on silicon, so many cycles per
// weight block and call, and the vendor's own estimate of its vertex; docs/explanation/cost-model.md, section 2, says
// which is when.
#pragma once

#include <array>
#include <cstdint>

#include "model/graph/tensor.h"
#include "model/machine/machine.h"

namespace superstep {

inline constexpr std::int64_t kUnitBytes = 32;  // of weights that a convolution unit holds
inline constexpr double kNarrowWeightLoad = 8;  // bytes per cycle, where 64 bits are loaded at a time
std::int64_t macs_per_cycle(const Amp& amp, DType operands, DType partials);

// What one tile multiplies: `groups` products of rows x contracted by contracted x columns, channels in weight blocks.
struct AmpShare {
  std::int64_t groups = 1, rows = 1, columns = 1, contracted = 1;
  std::int64_t blocks() const { return groups * columns * contracted; }
};

class AmpVertex {
 public:
  AmpVertex(const Amp& amp, std::int64_t workers, DType operands, DType partials);

  // Of a row through one weight block at full rate.
  std::int64_t row_cycles() const { return row_cycles_; }
  // Multiplying alone: workers take whole rows, so rows count in multiples of the workers.
  std::int64_t row_work(const AmpShare& s) const { return s.blocks() * row_cycles_ * round_up(s.rows, workers_); }
  // The whole call.
  std::int64_t cycles(const AmpShare& s) const {
    return measured_ ? s.blocks() * block_fixed_ + row_work(s) + call_fixed_ : estimate(s, false);
  }
  // No share with as many groups and blocks and as many rows or more takes less. The estimate is not monotonic: three
  // rows per worker take less than two.
  std::int64_t least_cycles(const AmpShare& s) const { return measured_ ? cycles(s) : estimate(s, true); }
  // No call takes less that has at least so many weight blocks in all its groups, and rows times blocks.
  std::int64_t least_cycles(std::int64_t blocks, std::int64_t rows_by_blocks) const {
    return blocks * least_block_ + rows_by_blocks * least_row_;
  }

 private:
  static constexpr std::int64_t kFilled = 3;  // rows of a worker from which on the pipeline is full
  // Slots of a worker for 0, 1, 2 and 3 rows; what each further row takes.
  struct Slots {
    std::array<std::int64_t, kFilled + 1> first{};
    std::int64_t further = 0;
    std::int64_t of(std::int64_t rows) const {
      return rows < kFilled ? first[static_cast<std::size_t>(rows)] : first[kFilled] + (rows - kFilled) * further;
    }
    std::int64_t least_per_row() const;  // of the workers together; whole cycles
  };
  std::int64_t estimate(const AmpShare& s, bool least) const;
  std::int64_t pass(const Slots& slots, std::int64_t most, std::int64_t fewest) const;  // rows of a worker

  std::int64_t workers_, block_channels_, row_cycles_;
  bool measured_;
  std::int64_t block_fixed_, call_fixed_;
  std::int64_t least_block_, least_row_;  // of a weight block without its rows, and of each row
  // The vendor's estimate: channels that a pass takes in, how many times those a weight block has (0: not a whole
  // number), passes for what it gives, cycles to load their weights, worker slots for state that workers keep over
  // passes, and those of a pass that adds to partial sums and of one that clears them first.
  std::int64_t inputs_ = 16, whole_steps_ = 0, passes_ = 1, weight_load_ = 0, kept_ = 0, kept_more_ = 0;
  Slots adding_, clearing_;
};

}  // namespace superstep
