// SPDX-License-Identifier: Apache-2.0
// A matrix product on one IPU, and a plan of how it is spread over the tiles.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "model/graph/tensor.h"
#include "model/ops/conv.h"
#include "model/units.h"

namespace superstep {

// A product of `batch` independent [rows x contracted] by [contracted x columns] matrices on one IPU.
struct ProductShape {
  std::int64_t batch = 1, rows = 1, columns = 1, contracted = 1;
  double halo = 1;  // elements of inputs that tiles receive, over batch x rows x contracted; overlapping windows: < 1
  double distinct = 1;  // elements of inputs that exist on the IPU, over batch x rows x contracted
  DType operands = DType::fp16;
  DType partials = DType::fp16;
  std::optional<DepthwiseConv> depthwise = {};  // the product as a depthwise convolution, for special vertices
  std::optional<ConvWindow> window = {};        // the contracted window, if its channels do not fill whole blocks
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};

// A tile plan of a matrix product. Cycles and bytes are of the busiest tile and of one run, unless said otherwise.
struct ProductPlan {
  std::int64_t pg = 1, pm = 1, pn = 1, pk = 1;  // parts of batch, rows, columns, contracted
  std::int64_t times = 1;  // serialisation: number of runs, one after the other, each on 1/times of the product
  bool swapped = false;    // true: rows and columns change roles, so the other operand is held as weights
  Cycles rows_useful;      // AMP cycles on real rows and channels
  Cycles rows_padding;     // AMP cycles on padding, and loop cycles of a slower unit beyond rows_useful
  Cycles fixed;            // weight loads and calls
  Cycles arrange;          // copying operands into the vertex's arrangement, before the calibrated factor
  Bytes plain_bytes;       // operands received at the plain rate
  Bytes paired_bytes;      // operands received at the paired rate, since both tiles of a pair receive the same stream
  Bytes partial_bytes;     // partial sums received beside the tile's own; 0: pk == 1
  Cycles reduce;           // adding partial sums, before the calibrated factor
  Cycles add;       // adding a run's results to earlier results, before the calibrated factor; 0: runs make parts
  Bytes temporary;  // temporary memory: operands, partial sums and results in flight
  Cycles total;     // whole product: all runs, with supersteps and the calibrated factor
};

// Spread of the elements of a tensor over the tiles of an IPU. No exchange is needed between equal layouts.
struct TileLayout {
  // Parts of the product that made the tensor; 0: row-major shares, made by another op.
  std::int64_t batch = 0, rows = 0, columns = 0;
  bool swapped = false;
  friend bool operator==(const TileLayout&, const TileLayout&) = default;
};
// Returns the layout of the product's result. Parts of the contraction do not change it.
inline TileLayout layout_of(const ProductPlan& p) { return {p.pg, p.pm, p.pn, p.swapped}; }

// Numbers of parts into which the extents of a product are cut.
struct ProductSplit {
  std::int64_t batch = 1, rows = 1, columns = 1, contracted = 1;
  std::int64_t parts() const { return batch * rows * columns * contracted; }
};
// Returns the cycles of adding `parts` partial sums of `elements` elements on one tile. Source: the vendor's add-reduce
// vertex with float or half accumulators (single contiguous input), 8 elements per worker and pass.
Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers);
// Returns the cycles of adding values to an operand in place, with `bytes` of each on a tile. Source: the vendor's
// scaledAdd vertex, 3 slots per 64 bits (hardware facts, section 3).
Cycles add_in_place(std::int64_t bytes, std::int64_t workers);

}  // namespace superstep
