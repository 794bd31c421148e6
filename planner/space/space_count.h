// SPDX-License-Identifier: Apache-2.0
// How many points the declared space has, counted by the rules between its fields: nothing is listed or searched, so
// that a search which says how many points it explored and pruned can be held against it.
#pragma once

#include <cstdint>
#include <limits>

#include "planner/job/job.h"

namespace superstep {

// Counts stay at INT64_MAX when they would exceed it.
struct SpaceCount {
  // All fields but the cuts: what settings() lists for all cells. A field without effect counts once.
  std::int64_t points = 0;
  // The same where each field keeps its whole list, with effect or without: schedules of a single stage or of phases,
  // sharding of activations that no IPU shares, preloads without IO tiles to go to, on two groups of IPUs or of code
  // that stays, an optimizer's state in inference.
  std::int64_t products = 0;
  // Decimal logarithm of the legal plans: of the points, each with all cuts into stages and phases and the modes of
  // recompute of each stage that check_plan() accepts. -infinity: there are none.
  double log10_with_cuts = 0;
};

inline constexpr SpaceCount kEmptySpace{0, 0, -std::numeric_limits<double>::infinity()};
// Of two spaces that have no plan in common.
SpaceCount operator+(const SpaceCount& a, const SpaceCount& b);

// `graph`: the job's, for any micro-batch; `statistics_group`: as for cells(). Points are counted whether or not a
// pinned serialisation cuts its ops into equal parts, plans where it does.
SpaceCount count_space(const Job& job, const Graph& graph, std::int64_t statistics_group = 0);

}  // namespace superstep
