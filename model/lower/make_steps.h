// SPDX-License-Identifier: Apache-2.0
// Makes the steps of a unit: exchanges, compute steps, collectives, and the sequence of steps of a matrix product.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/tile_plan.h"
#include "model/program/program.h"

namespace superstep {

struct MakeSteps {
  std::int64_t tiles = 0;  // compute tiles

  // Exchange in which each tile receives `plain` bytes at the plain rate and `paired` bytes at the paired rate.
  Step exchange(Term term, std::vector<std::int32_t> operands, Bytes plain, Bytes paired = Bytes(0)) const;
  // Compute step of vector work. `cycles`: of the busiest tile, before the calibrated factor.
  Step vector(Term term, Cycles cycles) const;
  // Collective over one operand or result. `operand`: as in Step::operands. `bytes`: as in CostModel::collective().
  static Step collective(Term term, CollectiveKind kind, std::int32_t operand, Bytes bytes, GroupShape group);
  // Steps of `slices` equal products, one after the other, by a tile plan: operands are received and multiplied,
  // partial sums are exchanged and added.
  std::vector<Step> product(const ProductPlan& plan, std::int64_t slices, std::vector<std::int32_t> operands) const;
};

}  // namespace superstep
