// SPDX-License-Identifier: Apache-2.0
// The numbers are those of poplibs lib/poplin/PerformanceEstimation.hpp, of getConvPartialSlicSupervisor... with four
// groups of one channel and getConvPartialVerticalMacSupervisor... (hardware.md, section 2.5).
#include "model/ops/depthwise_vertex.h"

#include <algorithm>

namespace superstep {
namespace {

// Slots of a worker for `n` results in a row of one window of 1 x 4. The source has a few more for 2 to 4 results than
// for 5; a row of 5 holds them.
std::int64_t row_slots(std::int64_t n, std::int64_t stride) {
  if (n == 1) return 13;
  if (stride > 1) return n == 2 ? 15 : 15 + 2 * (n - 3);
  return n < 5 ? 15 : 15 + (n - 5);
}

// Six for a taken branch, one for the last.
std::int64_t loop_branches(std::int64_t times) { return 6 * (times - 1) + 1; }

}  // namespace

DepthwiseCycles DepthwiseVertex::slic(const DepthwiseShare& s) const {
  constexpr std::int64_t kWidth = 4;  // of the windows
  // Per call, group of channels, window; with 16 convolution units for halves (4 chains), with 8 for floats.
  constexpr std::int64_t kCall = 28, kGroup = 15, kWindow = 20, kPreamble = 17, kRow = 10;
  const std::int64_t load = 16 + 9 + 6 + 10 * workers_ + 6;  // weights, which the workers arrange
  const std::int64_t passes = floats_ ? 2 : 1;               // over the operand
  const auto row = [&](std::int64_t n) { return passes * (row_slots(n, s.stride) - floats_) + (floats_ ? 3 : 0); };

  const std::int64_t groups = ceil_div(s.channels, slic_channels());
  const std::int64_t windows = s.window_rows * ceil_div(s.window_columns, kWidth);
  const std::int64_t mine = ceil_div(s.positions, workers_), whole = mine / s.line, rest = mine % s.line;
  const std::int64_t rows = whole + (rest > 0 ? 1 : 0);
  const std::int64_t slots = whole * row(s.line) + (rest > 0 ? row(rest) : 0);
  const std::int64_t run = workers_ * (kPreamble + rows * kRow + slots);
  const std::int64_t clearing = workers_ * rows;  // a branch more per row, in the first window of a group
  DepthwiseCycles c;
  c.loop = groups * windows * workers_ * mine * passes * std::min<std::int64_t>(s.stride, kMostStride);
  c.total = kCall + kGroup * groups + loop_branches(groups) +
            groups * ((kWindow + load + run) * windows + loop_branches(windows) + clearing);
  return c;
}

DepthwiseCycles DepthwiseVertex::vmac(const DepthwiseShare& s) const {
  const std::int64_t together = vmac_channels(), step = floats_ ? 2 : 3;  // slots per element of the window's row
  const std::int64_t start = floats_ ? 19 : 13, row = floats_ ? 7 + 5 + 3 : 7 + 15 + 3;
  // Every worker has its own sums, of rows of the window; these are cleared before and added after.
  const std::int64_t groups = ceil_div(s.channels, together), results = s.positions * together;
  const std::int64_t rows = ceil_div(s.positions * s.window_rows, workers_);
  const std::int64_t run = workers_ * (start + rows * (row + step * (s.window_columns - 1)));
  const std::int64_t clear = 4 + ceil_div(results, floats_ ? 2 : 4);
  const std::int64_t add = floats_ ? 9 + ceil_div((9 + 2 * (workers_ - 1)) * ceil_div(results, workers_), together)
                                   : 10 + ceil_div((7 + (workers_ - 1)) * ceil_div(results, workers_), together);
  DepthwiseCycles c;
  c.loop = groups * workers_ * rows * step * s.window_columns;
  c.total = 61 + 14 + 1 + groups * (clear + 32 + 24 + run + add);
  c.loop = std::min(c.loop, c.total);
  return c;
}

}  // namespace superstep
