// SPDX-License-Identifier: Apache-2.0
#include "model/lower/gradient_slices.h"

#include <algorithm>

namespace superstep {
namespace {

// Numbers of slices that are looked at one by one.
constexpr std::int64_t kFew = 3;

}  // namespace

CapParts gradient_slices(const UnitContext& c, TensorId t, Bytes cap) {
  const Bytes bytes = 2 * per_tile(c.facts, c.sharding, t, c.tiles);
  const std::int64_t columns = c.facts.graph.info(t).shape.back();
  const std::int64_t most = std::max<std::int64_t>(1, columns / (4 * c.chip.amp.block_channels));
  const CapParts slices = parts_within(bytes, cap);
  if (slices.parts < most) return slices;
  return {most, {0, most > 1 ? ceil_div(bytes.value, most - 1) - 1 : INT64_MAX}};
}

// Each number with the loosest bound. Where they are many, no number takes less than one slice with no bound.
QuickestSlices quickest_slices(const UnitContext& c, TensorId t, const ProductShape& product, const CapRange& caps,
                               Bytes cap) {
  const std::int64_t fewest = gradient_slices(c, t, Bytes(caps.most)).parts;
  const std::int64_t most = gradient_slices(c, t, Bytes(caps.least)).parts;
  if (most - fewest >= kFew) return {1, Bytes(INT64_MAX), 1, 0};
  QuickestSlices quickest{1, cap, fewest, most};
  Cycles least(INT64_MAX);
  for (std::int64_t slices = fewest; slices <= most; ++slices) {
    ProductShape part = product;
    part.columns = ceil_div(part.columns, slices);
    const Cycles total = c.fronts.fastest(part, cap).plan.total * slices;
    if (total < least) quickest.slices = slices, least = total;
  }
  return quickest;
}

}  // namespace superstep
