// SPDX-License-Identifier: Apache-2.0
// Tile plans of products, searched when first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/lower/cap_range.h"
#include "model/lower/tile_plan.h"

namespace superstep {

// Fronts that others have searched, for the same chip, tile count and calibration. Called by any number of threads.
class FrontStore {
 public:
  virtual ~FrontStore() = default;
  // `parts`: what was asked for with the shape, besides it. Empty: not there.
  virtual std::vector<ProductPlan> find(const ProductShape& shape, std::int64_t parts) = 0;
  virtual void add(const ProductShape& shape, std::int64_t parts, const std::vector<ProductPlan>& front) = 0;
};

// A plan of a front, and the bounds on temporary memory for which it is the one.
struct ProductChoice {
  const ProductPlan& plan;
  CapRange caps;
};

// Product fronts by shape; one per machine chip, tile count and calibration. Safe to share between threads.
class ProductFronts {
 public:
  // `store`: what was searched before, and is told what is searched here; none if null.
  ProductFronts(const Chip& chip, std::int64_t tiles, const Calibration& calibration,
                std::shared_ptr<FrontStore> store = nullptr);
  ~ProductFronts();
  ProductFronts(const ProductFronts&) = delete;
  ProductFronts& operator=(const ProductFronts&) = delete;
  // The fastest plan whose temporary memory is at most `cap`; the leanest when none is that lean.
  ProductChoice fastest(const ProductShape& shape, Bytes cap);
  // The same with the product run in exactly `times` parts: of its columns or its contraction, whichever falls in equal
  // parts.
  ProductChoice fastest_in(std::int64_t times, const ProductShape& shape, Bytes cap);
  // All that these bounds ask for, of fastest() or, where `times` is not 0, of fastest_in(); fastest first.
  std::span<const ProductPlan> all_within(const ProductShape& shape, const CapRange& caps, std::int64_t times = 0);
  std::int64_t searches() const;  // fronts computed so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace superstep
