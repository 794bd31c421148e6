// SPDX-License-Identifier: Apache-2.0
// Steps of a unit, of whatever op: what exchanges, what computes, and the row of both that a matrix product is.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/program.h"
#include "model/lower/tile_plan.h"

namespace superstep {

// On so many compute tiles.
struct MakeSteps {
  std::int64_t tiles = 0;

  // Each tile receives `plain` bytes, and `paired` at the paired rate.
  Step exchange(Term term, std::vector<std::int32_t> operands, Bytes plain, Bytes paired = Bytes(0)) const;
  Step vector(Term term, Cycles cycles) const;
  // Of one operand or result, `bytes` on each IPU of the group.
  static Step collective(Term term, CollectiveKind kind, std::int32_t operand, Bytes bytes, GroupShape group);
  // `slices` products one after the other, as a tile plan says: operands in, multiplied, partials summed up.
  std::vector<Step> product(const ProductPlan& plan, std::int64_t slices, std::vector<std::int32_t> operands) const;
};

}  // namespace superstep
