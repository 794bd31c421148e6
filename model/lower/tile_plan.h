// SPDX-License-Identifier: Apache-2.0
// Tile plans: how one op is spread over the tiles of one IPU. Matrix products get the best of all splits of their axes;
// any other op gets an even share on each tile. Results depend only on the op's signature.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/cost/calibration.h"
#include "model/graph/tensor.h"
#include "model/machine/machine.h"
#include "model/ops/conv.h"
#include "model/ops/op.h"

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

// Returns the product that one IPU computes for an op that uses the AMP. `local_extents`: extents of the op's axes
// after the split over IPUs.
ProductShape product_shape(const OpCall& call, std::span<const std::int64_t> local_extents, DType partials);

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
// Returns the plan with exactly this split, in one run.
ProductPlan product_plan(const ProductShape& shape, const ProductSplit& split, std::int64_t tiles, const Chip& chip,
                         const Calibration& calibration);

// Returns the cycles of adding `parts` partial sums of `elements` elements on one tile. Source: the vendor's add-reduce
// vertex with float or half accumulators (single contiguous input), 8 elements per worker and pass.
Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers);
// Returns the cycles of adding values to an operand in place, with `bytes` of each on a tile. Source: the vendor's
// scaledAdd vertex, 3 slots per 64 bits (hardware facts, section 3).
Cycles add_in_place(std::int64_t bytes, std::int64_t workers);

// Returns the strict Pareto front of (total, temporary), fastest first. `enough`: bytes of temporary memory below which
// leaner plans are of no use. Plans that are slower than the fastest plan within `enough` may be left out.
std::vector<ProductPlan> product_front(const ProductShape& shape, std::int64_t tiles, const Chip& chip,
                                       const Calibration& calibration, Bytes enough = Bytes(0));
// Returns the front of plans that run the product in exactly `times` parts. Parts are of the columns or of the
// contraction, whichever has equal parts.
std::vector<ProductPlan> product_front_in(std::int64_t times, const ProductShape& shape, std::int64_t tiles,
                                          const Chip& chip, const Calibration& calibration);

// An even share of an op that is not a matrix product.
struct SharePlan {
  std::int64_t parallel_parts = 1;  // parts of the volume of the parallel axes
  std::int64_t reduce_parts = 1;    // parts of the volume of the reduce axes
  Cycles vector;                    // vertex cycles of the busiest tile, before the calibrated factor
  Bytes partial_bytes;              // partial results that the busiest tile receives; 0: reduce_parts == 1
  Bytes join_memory;                // bytes on a tile of received partial results and its own
  Cycles join;                      // vertex cycles of joining partial results, before the calibrated factor
};
// Returns the fastest share plan. `local_extents`: extents of the op's axes after the split over IPUs.
SharePlan share_plan(const OpCall& call, std::span<const std::int64_t> local_extents, std::int64_t tiles,
                     const Chip& chip);

}  // namespace superstep
