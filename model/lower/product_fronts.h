// SPDX-License-Identifier: Apache-2.0
// Tile plans of products, searched when first asked for.
#pragma once

#include <cstdint>
#include <memory>

#include "model/lower/tile_plan.h"

namespace superstep {

// Of a tile's memory, the least share that temporary memory is bound to but by a pin; tighter ones take longer to
// search.
inline constexpr double kLeastProportion = 0.05;

// Product fronts by shape; one per machine chip, tile count and calibration. Safe to share between threads.
class ProductFronts {
 public:
  ProductFronts(const Chip& chip, std::int64_t tiles, const Calibration& calibration);
  ~ProductFronts();
  ProductFronts(const ProductFronts&) = delete;
  ProductFronts& operator=(const ProductFronts&) = delete;
  // The fastest plan whose temporary memory is at most `cap`; the leanest when none is that lean.
  const ProductPlan& fastest(const ProductShape& shape, Bytes cap);
  // The same with the product run in exactly `times` parts: of its columns or its contraction, whichever falls in equal
  // parts.
  const ProductPlan& fastest_in(std::int64_t times, const ProductShape& shape, Bytes cap);
  std::int64_t searches() const;  // fronts computed so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace superstep
