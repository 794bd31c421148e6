// SPDX-License-Identifier: Apache-2.0
// What weight updates cost, by the work they are. Most of what tables differ in (micro-batch, schedule, bounds on
// temporary memory that slice no weight) leaves an update as it is, so that tables share these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/lower/lower_unit.h"

namespace superstep {

// In how many slices an elementwise update makes its result, so that four of them fit the bound on temporary memory.
// `result`: per tile, before the replicas of `group` share it.
CapParts update_slices(Bytes result, GroupShape group, Bytes temporary_cap);

// The update of one unit on one IPU, whoever shares it.
class UpdateWork {
 public:
  UpdateWork(const UnitContext& context, UnitId unit);
  // Equal for equal work: the same function, but for names.
  std::uint64_t signature(GroupShape group, const UnitContext& context) const;

 private:
  std::uint64_t base_ = 0;
  bool plans_products_ = false;  // by the bound on temporary memory itself
  std::vector<Bytes> results_;   // per tile, by op
};

struct UpdateCost {
  Footprint footprint;
  Cycles cycles;
};

// By signature; of one cost model and one number of compute tiles. Safe to share between threads.
class UpdateCosts {
 public:
  // Those of several signatures. `make`: of the one at a place, called for what nobody has made yet. Threads that want
  // the same make them together, each those that no other one has begun.
  std::vector<const UpdateCost*> get(std::span<const std::uint64_t> signatures,
                                     const std::function<UpdateCost(std::size_t)>& make);

 private:
  struct Entry {
    std::mutex making;
    std::atomic<bool> made = false;
    UpdateCost cost;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace superstep
