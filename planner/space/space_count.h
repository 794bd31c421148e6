// SPDX-License-Identifier: Apache-2.0
// The number of settings and of plans in the declared space.
#pragma once

#include <cstdint>

#include "planner/job/job.h"

namespace superstep {

struct SpaceCount {
  // Number of settings: all fields but the cuts, a field without effect counted once. INT64_MAX: as many or more.
  std::int64_t points = 0;
  // Decimal logarithm of the number of legal plans. Each setting counts with all cuts into stages and phases and all
  // modes of recompute that check_plan() accepts. -infinity: no plan is legal.
  double log10_with_cuts = 0;
};

// Returns the counts of all cells(): settings, and settings times their cuts, which are counted and not listed.
// `graph`: the graph of the job for any micro-batch. Plans are counted only where a pinned serialisation cuts its ops
// into equal parts, points everywhere. Throws Error if no cell is legal.
SpaceCount count_space(const Job& job, const Graph& graph, std::int64_t statistics_group = 0);

// Returns the counts of two spaces together. The spaces have no plan in common.
SpaceCount operator+(const SpaceCount& a, const SpaceCount& b);

}  // namespace superstep
