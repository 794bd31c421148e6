// SPDX-License-Identifier: Apache-2.0
// Derives tensor parallelism over the t IPUs of a mesh from a graph. The result is the split axis of each op, the
// sharding of every stored tensor, and the collectives that join shards.
//
// Each op declares its axes. A dynamic programme over the ops of a block finds the splits with least time. Its state is
// the sharding of the live tensors. The result is exact unless a block leads to more states than a limit allows. A
// block is all units of one layer, or one unit that is in no layer.
//
// Tensors that cross blocks are replicated, and axes that carry samples or positions (data) are not split. The rule
// ShardRules::split_activations splits such tensors along a data axis instead. In the backward pass the stored tensors
// of the forward pass are given. A weight's gradient is stored as the weight is.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "model/graph/graph.h"
#include "model/lower/plan.h"
#include "model/machine/links.h"
#include "model/units.h"

namespace superstep {

enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all };
std::string_view name_of(CollectiveKind kind);

// Sharding of a tensor on the two mesh dimensions. A value of 0 or more is the tensor's dimension that is split over
// the mesh dimension. A tensor is also replicated, or held as partial sums.
struct Sharding {
  static constexpr std::int8_t replicated = -1;
  static constexpr std::int8_t partial = -2;
  std::array<std::int8_t, 2> on = {replicated, replicated};
  friend auto operator<=>(const Sharding&, const Sharding&) = default;
};

// Returns the mesh dimensions in the order in which a conversion changes them. The second changes first if it still
// splits the tensor dimension that the first is to split.
constexpr std::array<int, 2> conversion_order(const Sharding& from, const Sharding& to) {
  const bool second_first = to.on[0] >= 0 && from.on[0] != to.on[0] && from.on[1] == to.on[0];
  return second_first ? std::array{1, 0} : std::array{0, 1};
}

// Returns the group of IPUs along a mesh dimension (0: t1, 1: t2). Neighbours of the mesh are `rank_stride` IPUs apart.
GroupShape mesh_group(TensorParallel mesh, int dimension, std::int64_t rank_stride);

// A change of sharding along one mesh dimension, by a collective.
struct Conversion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int mesh = 0;     // mesh dimension, 0: t1, 1: t2
  Bytes bytes;      // of the tensor on one IPU, before or after the collective, whichever is larger
  int operand = 0;  // k: input k, before the op; -1 - k: output k, after the op
  friend auto operator<=>(const Conversion&, const Conversion&) = default;
};

struct OpSharding {
  std::array<int, 2> axis = {-1, -1};   // the axis split over t1 and over t2; -1: all IPUs do the same work
  std::vector<Sharding> in, out;        // inputs as the op reads them (after conversion), outputs as stored
  std::vector<Conversion> conversions;  // of inputs, then of outputs
  friend auto operator<=>(const OpSharding&, const OpSharding&) = default;
};

struct GraphSharding {
  TensorParallel mesh;
  std::vector<OpSharding> ops;         // all different shardings of ops
  std::vector<std::int32_t> op_index;  // by OpId: index into `ops`
  std::vector<Sharding> tensors;       // by TensorId, as stored between ops
  const OpSharding& of(OpId op) const {
    return ops[static_cast<std::size_t>(op_index[static_cast<std::size_t>(op.index)])];
  }
  const Sharding& of(TensorId t) const { return tensors[static_cast<std::size_t>(t.index)]; }
};

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

// Returns the splits with least time.
GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules = {});
// Returns the splits with least time, for callers that have the facts of the graph.
struct ShardFacts;
GraphSharding shard(const Graph& graph, const ShardFacts& facts, TensorParallel mesh, const CollectiveTime& collective,
                    const WorkTime& work, const ShardRules& rules);

// Returns the extents of an op's axes on one IPU of the mesh, rounded up.
std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh);
// Returns the extent of one dimension of a tensor on one IPU, rounded up.
std::int64_t local_extent(const Shape& shape, std::size_t dimension, const Sharding& sharding, TensorParallel mesh);
// Returns the number of a tensor's elements on one IPU.
std::int64_t local_volume(const Shape& shape, const Sharding& sharding, TensorParallel mesh);

}  // namespace superstep
