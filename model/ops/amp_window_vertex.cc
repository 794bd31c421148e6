// SPDX-License-Identifier: Apache-2.0
// The numbers are those of poplibs lib/poplin/PerformanceEstimation.hpp, of getConvPartialnx1Supervisor... for halves
// and floats (hardware.md, section 2.4).
#include "model/ops/amp_window_vertex.h"

#include <algorithm>

#include "model/ops/amp_vertex.h"

namespace superstep {

AmpWindowVertex::AmpWindowVertex(const Amp& amp, std::int64_t workers, DType operands, DType partials)
    : workers_(workers),
      block_channels_(std::max<std::int64_t>(amp.block_channels, 1)),
      floats_(operands != DType::fp16),
      float_partials_(floats_ || partials != DType::fp16),
      units_(!floats_ && float_partials_ ? 8 : 16),
      output_passes_(ceil_div(block_channels_, units_)),
      row_(ceil_div(depth() * units_, std::max<std::int64_t>(macs_per_cycle(amp, operands, partials), 1))),
      weight_load_(amp.weight_load.value > 0 ? amp.weight_load.value : kNarrowWeightLoad) {}

AmpWindow AmpWindowVertex::window(std::int64_t height, std::int64_t channels, std::int64_t rows, std::int64_t columns,
                                  std::int64_t line) const {
  return {height, ceil_div(channels * height, depth()), ceil_div(rows, height), columns, line};
}

// Of a worker for `rows` results that lie in a row.
std::int64_t AmpWindowVertex::item(std::int64_t rows) const {
  constexpr std::int64_t kStart = 3, kKept = 9;  // pointers of an item; state that workers keep
  const std::int64_t full = floats_ ? 45 : 34;   // of 3 results: the pipeline is full
  const std::int64_t results = rows == 1   ? (floats_ ? 33 : 29)
                               : rows == 2 ? (floats_ ? 44 : 34)
                                           : full + (rows - 3) * row_;
  return kStart + results - kKept;
}

std::int64_t AmpWindowVertex::slots(std::int64_t rows, std::int64_t line) const {
  const std::int64_t whole = rows / line, rest = rows % line;
  return 17 + (float_partials_ ? 0 : 1) + whole * item(line) + (rest > 0 ? item(rest) : 0);
}

std::int64_t AmpWindowVertex::row_work(const AmpWindowShare& s) const {
  return s.groups * s.columns * s.passes * row_cycles() * round_up(s.rows, workers_);
}

std::int64_t AmpWindowVertex::cycles(const AmpWindow& w, const AmpWindowShare& s) const {
  constexpr std::int64_t kCall = 109, kKept = 9, kAfterFastest = 9;
  const std::int64_t most = ceil_div(s.rows, workers_), fewest = s.rows / workers_;
  const std::int64_t run = std::max(workers_ * slots(most, w.line), workers_ * slots(fewest, w.line) + kAfterFastest);
  // Passes that a tile has of the window: its places first, then groups of channels.
  const std::int64_t inner = std::min(s.passes, w.inner), lines = ceil_div(s.passes, inner);
  const std::int64_t inputs = ceil_div(lines, std::min(lines, w.outer));
  // Weights of four rows come 64 bits at a time; those of several from as many pointers.
  const double rate = w.height == kMostHeight ? std::min(weight_load_, kNarrowWeightLoad) : weight_load_;
  const auto load = static_cast<std::int64_t>(static_cast<double>(units_ * kUnitBytes) / rate);
  const std::int64_t pointers = w.height == 4 ? 60 : w.height == 2 ? 46 : 15;
  const std::int64_t places = 14 * lines + s.passes * (12 + output_passes_ * (load + pointers + 3 + run));
  // Partial sums are cleared first: a loop over groups, 6 cycles for a taken branch, one for the last.
  const std::int64_t vector = float_partials_ ? 2 : 4;
  const std::int64_t clearing = workers_ * (ceil_div(ceil_div(s.rows * block_channels_, workers_), vector) + 5);
  const std::int64_t branches = s.groups * (17 * s.columns + 6 * (s.columns - 1) + 1) + 6 * (s.groups - 1) + 1;
  return kCall + workers_ * (kKept + (float_partials_ ? 9 : 10)) + branches + s.groups * s.columns * clearing +
         s.groups * (16 + inputs * (14 + 14 * s.columns) + s.columns * places);
}

}  // namespace superstep
