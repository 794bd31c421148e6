// SPDX-License-Identifier: Apache-2.0
// What shard() is given beside the graph and the mesh: times and rules.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "model/graph/graph.h"
#include "model/program/sharding.h"
#include "model/units.h"

namespace superstep {

// Returns the time of a collective over one mesh dimension (0: t1, 1: t2); bytes as in Conversion.
using CollectiveTime = std::function<Seconds(CollectiveKind, int mesh, Bytes)>;
// Returns the time of an op's own work on one IPU, given the local extents of its axes.
using WorkTime = std::function<Seconds(OpId, std::span<const std::int64_t> extents)>;

// Number of elements below which a weight (a bias or a norm) may be kept whole on every IPU.
inline constexpr std::int64_t kSmallWeight = 65536;

struct ShardRules {
  std::int64_t small_weight = kSmallWeight;  // elements; weights with fewer elements do not begin a split
  // True: activations that cross blocks or wait for the backward pass are split over t1, and so is the work on them.
  // Each is split along its first data dimension that t1 divides.
  bool split_activations = false;
  // Most bytes of a weight that may be gathered for each use, where gathering is cheaper than joining activations.
  Bytes gather_limit = Bytes(std::numeric_limits<std::int64_t>::max());
  bool collapse = true;  // true: blocks with equal signatures are solved once; false: each block, for comparison
};

}  // namespace superstep
