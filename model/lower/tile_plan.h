// SPDX-License-Identifier: Apache-2.0
// How one op is spread over the tiles of one IPU: a search over splits of every axis for matrix
// products, an even share for all else. Results depend only on the op's signature.
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
  double halo = 1;      // inputs received over batch x rows x contracted: less than 1 where windows overlap
  double distinct = 1;  // inputs that there are, over the same: what lies on the tiles
  DType operands = DType::fp16;
  DType partials = DType::fp16;
  std::optional<DepthwiseConv> depthwise = {};  // what it also is, for vertices of their own
  std::optional<ConvWindow> window = {};        // that it contracts, where no group of its channels fills blocks
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};

// The product that one IPU does of an op that uses the AMP; extents of the op's axes after the split over IPUs.
ProductShape product_shape(const OpCall& call, std::span<const std::int64_t> local_extents, DType partials);

// One point of the time-memory front of a matrix product.
struct ProductPlan {
  std::int64_t pg = 1, pm = 1, pn = 1, pk = 1;  // parts of batch, rows, columns, contracted
  std::int64_t times = 1;                       // serialisation: this plan runs so often on 1/times of the product
  bool swapped = false;                         // rows and columns change roles: the other operand is held as weights
  Cycles rows_useful;                           // AMP cycles on real rows and channels, per run
  Cycles rows_padding;                          // AMP cycles on padding, or loops of a slower unit beyond them, per run
  Cycles fixed;                                 // weight loads and calls, per run
  Cycles arrange;       // copying operands as the vertex reads them, before the calibrated factor, per run
  Bytes plain_bytes;    // operands the busiest tile receives, per run
  Bytes paired_bytes;   // of which both tiles of a pair receive the same
  Bytes partial_bytes;  // partial sums it receives beside its own, per run; 0: pk == 1
  Cycles reduce;        // adding them, before the calibrated factor
  Cycles add;           // a run's results to those of the runs before, likewise; 0: runs make different ones
  Bytes temporary;      // operands, partials and results in flight on a tile
  Cycles total;         // all of it, all runs, supersteps and calibrated factor included
};

// How the elements of a tensor are spread over the tiles of an IPU. Layouts that are equal need no exchange in between.
struct TileLayout {
  std::int64_t batch = 0, rows = 0,
               columns = 0;  // parts of the product that made it; 0: row-major shares of no product
  bool swapped = false;
  friend bool operator==(const TileLayout&, const TileLayout&) = default;
};
// Of the product's result, which the parts of the contraction do not change.
inline TileLayout layout_of(const ProductPlan& p) { return {p.pg, p.pm, p.pn, p.swapped}; }

// Into how many parts each extent of a product is cut.
struct ProductSplit {
  std::int64_t batch = 1, rows = 1, columns = 1, contracted = 1;
  std::int64_t parts() const { return batch * rows * columns * contracted; }
};
// The product cut just so, in one run.
ProductPlan product_plan(const ProductShape& shape, const ProductSplit& split, std::int64_t tiles, const Chip& chip,
                         const Calibration& calibration);

// Adding `parts` partial sums of n elements on one tile: the vendor's add-reduce vertex with float or half
// accumulators (single contiguous input), 8 elements per worker and pass.
Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers);
// Adding values to others of the same type that lie where the sum will: the vendor's scaledAdd vertex, 3 slots per 64
// bits (hardware facts, section 3). `bytes`: of either on a tile.
Cycles add_in_place(std::int64_t bytes, std::int64_t workers);

// Strict Pareto front of (total, temporary), fastest first. Where any plan that needs no more than `enough` will do,
// those slower than the fastest of them may be left out.
std::vector<ProductPlan> product_front(const ProductShape& shape, std::int64_t tiles, const Chip& chip,
                                       const Calibration& calibration, Bytes enough = Bytes(0));
// The same with the product run in exactly `times` parts: of its columns or its contraction, whichever falls in equal
// parts.
std::vector<ProductPlan> product_front_in(std::int64_t times, const ProductShape& shape, std::int64_t tiles,
                                          const Chip& chip, const Calibration& calibration);

// An even share of an op that is not a matrix product.
struct SharePlan {
  std::int64_t parallel_parts = 1;  // of the volume of its parallel axes
  std::int64_t reduce_parts = 1;    // of the volume of its reduce axes
  Cycles vector;                    // busiest tile, before the calibrated factor
  Bytes partial_bytes;              // busiest tile receives to join partial results; 0 when reduce_parts == 1
  Bytes join_memory;                // those and its own
  Cycles join;                      // vertex cycles of joining them
};
SharePlan share_plan(const OpCall& call, std::span<const std::int64_t> local_extents, std::int64_t tiles,
                     const Chip& chip);

}  // namespace superstep
