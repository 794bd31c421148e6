// SPDX-License-Identifier: Apache-2.0
// The numbers of the estimate are those of poplibs lib/poplin/PerformanceEstimation.hpp for its 1x1 vertex
// (hardware.md, section 2.2); its names are given where ours differ.
#include "model/ops/amp_vertex.h"

#include <algorithm>

namespace superstep {
namespace {

constexpr std::int64_t kPassAdding = 6, kColumnCleared = 18;  // what a pass and a column of it take beside their rows

}  // namespace

std::int64_t macs_per_cycle(const Amp& amp, DType operands, DType partials) {
  if (operands != DType::fp16) return amp.fp32_macs_per_cycle;
  return partials == DType::fp16 ? amp.fp16_16_macs_per_cycle : amp.fp16_32_macs_per_cycle;
}

AmpVertex::AmpVertex(const Amp& amp, std::int64_t workers, DType operands, DType partials)
    : workers_(workers),
      block_channels_(std::max<std::int64_t>(amp.block_channels, 1)),
      row_cycles_(ceil_div(block_channels_ * block_channels_,
                           std::max<std::int64_t>(macs_per_cycle(amp, operands, partials), 1))),
      measured_(amp.weight_load.value <= 0 ||
                (operands == DType::fp16 && partials == DType::fp16 && !amp.estimated_fp16_16)),
      block_fixed_(amp.block_fixed.value),
      call_fixed_(amp.call_fixed.value),
      least_block_(block_fixed_),
      least_row_(row_cycles_) {
  if (measured_) return;
  const bool floats = operands != DType::fp16;
  const std::int64_t units = !floats && partials != DType::fp16 ? 8 : 16;  // convolution units that a pass uses
  inputs_ = floats ? 8 : 16;
  passes_ = ceil_div(block_channels_, units);
  weight_load_ = static_cast<std::int64_t>(static_cast<double>(units * kUnitBytes) / amp.weight_load.value);
  const std::int64_t row =
      ceil_div(inputs_ * units, std::max<std::int64_t>(macs_per_cycle(amp, operands, partials), 1));
  if (floats) {
    constexpr std::int64_t kClear = 8;  // per row: zeroCyclesPerGroup
    adding_ = {{24, 47, 46, 46}, row};
    clearing_ = {{24, 49 + kClear, 48 + 2 * kClear, 48 + 3 * kClear}, row + kClear};
  } else {
    kept_ = 7, kept_more_ = 3;  // conv1x1WorkerRetentionSavings
    adding_ = {{22 - kept_, 33 - kept_, 42 - kept_, 38 - kept_}, row};
    clearing_ = {{21 - kept_, 32 - kept_, 41 - kept_, 37 - kept_}, row};
  }
  if (block_channels_ % inputs_ == 0) whole_steps_ = block_channels_ / inputs_;
  const std::int64_t steps = block_channels_ / inputs_;
  least_block_ = steps * (kColumnCleared + passes_ * (kPassAdding + weight_load_));
  least_row_ = steps * passes_ * std::min(adding_.least_per_row(), clearing_.least_per_row());
}

std::int64_t AmpVertex::Slots::least_per_row() const {
  std::int64_t least = further;
  for (std::size_t rows = 1; rows < first.size(); ++rows)
    least = std::min(least, first[rows] / static_cast<std::int64_t>(rows));
  return least;
}

// All workers through their rows: the slowest, or the fastest and the supervisor's part after it.
std::int64_t AmpVertex::pass(const Slots& slots, std::int64_t most, std::int64_t fewest) const {
  constexpr std::int64_t kAfterFastest = 14;
  return std::max(workers_ * slots.of(most), workers_ * slots.of(fewest) + kAfterFastest);
}

std::int64_t AmpVertex::estimate(const AmpShare& s, bool least) const {
  const std::int64_t most = ceil_div(s.rows, workers_), fewest = most * workers_ == s.rows ? most : most - 1;
  std::int64_t add = pass(adding_, most, fewest), clear = pass(clearing_, most, fewest);
  if (least && most <= kFilled) {
    add = std::min(add, pass(adding_, kFilled, kFilled));
    clear = std::min(clear, pass(clearing_, kFilled, kFilled));
  }
  const std::int64_t steps =  // numInGroups
      whole_steps_ > 0 ? s.contracted * whole_steps_ : ceil_div(s.contracted * block_channels_, inputs_);
  const std::int64_t adding = 15 + s.columns * (19 + passes_ * (kPassAdding + weight_load_ + add));
  const std::int64_t clearing = 11 + s.columns * (kColumnCleared + passes_ * (7 + weight_load_ + clear));
  return 50 + workers_ * (kept_ + kept_more_ * (steps * s.groups - 1)) +
         s.groups * (13 + (steps - 1) * adding + clearing);
}

}  // namespace superstep
