// SPDX-License-Identifier: Apache-2.0
// Cycles of convolutions whose channels share nothing, on a tile. The matrix unit would contract one channel of 16;
// two other vertices do better: SLIC slides windows of 1 x 4 over rows in the matrix unit, and the vector unit
// multiplies 8 channels at a time (VMAC), best where the window is long, as it is for the gradient of the weights,
// which slides the gradient of the result over the operand.
#pragma once

#include <compare>
#include <cstdint>

#include "model/graph/tensor.h"
#include "model/machine/machine.h"

namespace superstep {

// What one tile convolves: `positions` results in lines of `line` for each of `channels`, by a window of `window_rows`
// x `window_columns`. Results lie `stride` elements of the operand apart.
struct DepthwiseShare {
  std::int64_t channels = 1, positions = 1, line = 1;
  std::int64_t window_rows = 1, window_columns = 1;
  std::int64_t stride = 1;
  friend auto operator<=>(const DepthwiseShare&, const DepthwiseShare&) = default;
};

// A call: multiplying alone, and all of it.
struct DepthwiseCycles {
  std::int64_t loop = 0, total = 0;
};

class DepthwiseVertex {
 public:
  // Half operands; partial sums are halves or floats.
  DepthwiseVertex(std::int64_t workers, DType partials) : workers_(workers), floats_(partials != DType::fp16) {}

  static constexpr std::int64_t kMostStride = 2;  // of SLIC
  // Channels that a vertex takes at a time.
  std::int64_t slic_channels() const { return 4; }
  std::int64_t vmac_channels() const { return floats_ ? 4 : 8; }

  DepthwiseCycles slic(const DepthwiseShare& s) const;
  DepthwiseCycles vmac(const DepthwiseShare& s) const;
  DepthwiseCycles fastest(const DepthwiseShare& s) const {
    const DepthwiseCycles by_vector = vmac(s);
    if (s.stride > kMostStride) return by_vector;
    const DepthwiseCycles sliding = slic(s);
    return sliding.total < by_vector.total ? sliding : by_vector;
  }

 private:
  std::int64_t workers_;
  bool floats_;
};

}  // namespace superstep
