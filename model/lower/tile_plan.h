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
#include "model/graph/op_def.h"
#include "model/graph/tensor.h"
#include "model/lower/product_plan.h"
#include "model/machine/machine.h"

namespace superstep {

// Returns the product that one IPU computes for an op that uses the AMP. `local_extents`: extents of the op's axes
// after the split over IPUs.
ProductShape product_shape(const OpCall& call, std::span<const std::int64_t> local_extents, DType partials);

// Returns the plan with exactly this split, in one run.
ProductPlan product_plan(const ProductShape& shape, const ProductSplit& split, std::int64_t tiles, const Chip& chip,
                         const Calibration& calibration);

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
