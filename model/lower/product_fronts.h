// SPDX-License-Identifier: Apache-2.0
// Cache of product fronts: the Pareto-optimal tile plans of each product shape, searched when first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/lower/tile_plan.h"
#include "model/program/cap_range.h"

namespace superstep {

// Store of fronts that earlier runs have searched, for the same chip, tile count and calibration. Called by any number
// of threads.
class FrontStore {
 public:
  virtual ~FrontStore() = default;
  // Returns the front that is stored for a shape and a number of parts; empty: none is stored. `parts` is the number of
  // parts in which the product runs. 0: as many as bounds of at least least_cap() ask for. -1: as many as any bound
  // asks for.
  virtual std::vector<ProductPlan> find(const ProductShape& shape, std::int64_t parts) = 0;
  virtual void add(const ProductShape& shape, std::int64_t parts, const std::vector<ProductPlan>& front) = 0;
};

// A plan of a front, and the bounds on temporary memory for which this plan is chosen.
struct ProductChoice {
  const ProductPlan& plan;
  CapRange caps;
};

// Product fronts by shape, for one chip, tile count and calibration. Safe to share between threads.
class ProductFronts {
 public:
  // `store` is asked before each search, and gets each front that is searched here. Null: no store.
  ProductFronts(const Chip& chip, std::int64_t tiles, const Calibration& calibration,
                std::shared_ptr<FrontStore> store = nullptr);
  ~ProductFronts();
  ProductFronts(const ProductFronts&) = delete;
  ProductFronts& operator=(const ProductFronts&) = delete;
  // Returns the fastest plan whose temporary memory is at most `cap`. If no plan is so lean, returns the leanest plan.
  ProductChoice fastest(const ProductShape& shape, Bytes cap);
  // Returns the fastest plan as fastest() does, but only among plans that run the product in exactly `times` parts.
  // Parts are of the columns or of the contraction, whichever has equal parts.
  ProductChoice fastest_in(std::int64_t times, const ProductShape& shape, Bytes cap);
  // Returns all plans that fastest() returns for bounds in `caps`, fastest first. If `times` is not 0, the plans of
  // fastest_in().
  std::span<const ProductPlan> all_within(const ProductShape& shape, const CapRange& caps, std::int64_t times = 0);
  std::int64_t searches() const;  // number of fronts searched so far, without those from the store

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace superstep
