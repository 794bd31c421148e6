// SPDX-License-Identifier: Apache-2.0
// Costs of weight updates, shared by tables. Most differences between tables do not change an update: micro-batch,
// schedule, and bounds on temporary memory that slice no weight.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/lower/unit_context.h"

namespace superstep {

// Returns the number of slices in which an elementwise update makes its result, so that four slices fit the bound on
// temporary memory. `result`: bytes per tile, before the replicas of `group` share the update.
CapParts update_slices(Bytes result, GroupShape group, Bytes temporary_cap);

// The update of one unit on one IPU, for any group of replicas that share the update.
class UpdateWork {
 public:
  UpdateWork(const UnitContext& context, UnitId unit);
  // Returns a number that is equal for equal work: updates whose functions are equal but for names.
  std::uint64_t signature(GroupShape group, const UnitContext& context) const;

 private:
  std::uint64_t base_ = 0;
  bool plans_products_ = false;  // true: the update has products, whose tile plans depend on the bound itself
  std::vector<Bytes> results_;   // by op: bytes per tile of the first result
};

struct UpdateCost {
  Footprint footprint;
  Cycles cycles;
};

// Costs of updates by signature, for one cost model and one number of compute tiles. Safe to share between threads.
class UpdateCosts {
 public:
  // Returns the costs of several signatures. make(i) computes the cost of signatures[i], and is called for each
  // signature without a known cost. Threads that ask for the same signatures share the work: each computes costs that
  // no other thread has begun.
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
