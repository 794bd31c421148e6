// SPDX-License-Identifier: Apache-2.0
// Which runs of units are equal, so that what is known of one holds for the other.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/setting.h"

namespace superstep {

// A stage's numbers depend on the classes of its units, on which of them share a checkpoint, on whether it begins the
// model, and, where weights are borrowed, on where the lender is. Runs that agree in these and in the boundary behind
// them are equal; a run with a borrower in it equals none but itself.
class EqualRuns {
 public:
  explicit EqualRuns(const Setting& setting);

  // Of units [begin, end), at least one: below count(), the same for two runs only if they are equal. Equal runs may
  // have different numbers where that saves little.
  std::size_t number(std::int64_t begin, std::int64_t end) const {
    const Start& start = starts_[static_cast<std::size_t>(begin)];
    const auto length = static_cast<std::int32_t>(end - begin);
    return static_cast<std::size_t>(length + (length <= start.shared ? start.like : start.own));
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }

 private:
  // Runs up to `shared` units long are numbered as those from another unit on, longer ones on their own.
  struct Start {
    std::int32_t shared = 0, like = 0, own = 0;
  };
  std::vector<Start> starts_;
  std::int32_t count_ = 0;
};

}  // namespace superstep
