// SPDX-License-Identifier: Apache-2.0
// Cycles of one call of the matrix unit (AMP) that slides a window over its operand: the vendor's Nx1 vertex. Where a
// group of channels is smaller than what a convolution unit holds, rows of the window fill it: "N" of them.
#pragma once

#include <cstdint>

#include "model/graph/tensor.h"
#include "model/machine/machine.h"

namespace superstep {

// How the contraction falls into passes: each takes `height` rows of the window and depth / height channels.
struct AmpWindow {
  std::int64_t height = 1;            // 1, 2 or 4
  std::int64_t groups = 1;            // of channels
  std::int64_t outer = 1, inner = 1;  // places: rows of the window in steps of `height`, and the others
  std::int64_t line = 1;              // results that lie in a row
  std::int64_t passes() const { return groups * outer * inner; }
  friend auto operator<=>(const AmpWindow&, const AmpWindow&) = default;
};

// What one tile multiplies: results of `groups` convolutions, columns in blocks of channels, and how many of the
// window's passes.
struct AmpWindowShare {
  std::int64_t groups = 1, rows = 1, columns = 1, passes = 1;
};

class AmpWindowVertex {
 public:
  AmpWindowVertex(const Amp& amp, std::int64_t workers, DType operands, DType partials);

  // Weights of one column that a convolution unit holds: what a pass contracts.
  std::int64_t depth() const { return floats_ ? 8 : 16; }
  static constexpr std::int64_t kMostHeight = 4;
  // `channels` of a window of rows x columns, so many of its rows in a pass.
  AmpWindow window(std::int64_t height, std::int64_t channels, std::int64_t rows, std::int64_t columns,
                   std::int64_t line) const;

  // Of one row through a pass at full rate.
  std::int64_t row_cycles() const { return output_passes_ * row_; }
  // Multiplying alone, and the whole call.
  std::int64_t row_work(const AmpWindowShare& s) const;
  std::int64_t cycles(const AmpWindow& w, const AmpWindowShare& s) const;

 private:
  std::int64_t slots(std::int64_t rows, std::int64_t line) const;
  std::int64_t item(std::int64_t rows) const;

  std::int64_t workers_, block_channels_;
  bool floats_, float_partials_;
  std::int64_t units_, output_passes_, row_;
  double weight_load_;
};

}  // namespace superstep
