// SPDX-License-Identifier: Apache-2.0
// How many settings and plans the declared space has.
#pragma once

#include <cstdint>

#include "planner/job/job.h"

namespace superstep {

struct SpaceCount {
  // Settings: all fields but the cuts, a field without effect counted once. Stays at INT64_MAX.
  std::int64_t points = 0;
  // Decimal logarithm of the legal plans: of the points, each with all cuts into stages and phases and the modes of
  // recompute of each stage that check_plan() accepts. -infinity: there are none.
  double log10_with_cuts = 0;
};

// Counts the settings of all cells() and multiplies each by its cuts, which are counted and not listed. `graph`: the
// job's, for any micro-batch. Points are counted whether or not a pinned serialisation cuts its ops into equal parts,
// plans where it does. Throws Error where no cell is legal.
SpaceCount count_space(const Job& job, const Graph& graph, std::int64_t statistics_group = 0);

// Adds two spaces that have no plan in common.
SpaceCount operator+(const SpaceCount& a, const SpaceCount& b);

}  // namespace superstep
