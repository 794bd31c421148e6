// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism, derived: which axis of each op is split over the t IPUs that share a layer, how
// every tensor is then stored, and which collectives join the pieces.
//
// Each op declares its axes; the splits that take least time are found by an exact dynamic programme
// over the ops of a block, whose state is how the live tensors are stored. A block is all units of one
// layer, or one unit that is in no layer. Tensors that cross blocks are replicated, and axes that carry samples or
// positions (data) are then not split here; or they are split along such an axis (ShardRules::split_activations). In
// the backward pass the stored tensors of the forward are given, and a weight's gradient is stored as the weight is.
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

// How a tensor lies on the two mesh dimensions: replicated, as partial sums, or split along one of
// its dimensions (the value).
struct Sharding {
  static constexpr std::int8_t replicated = -1;
  static constexpr std::int8_t partial = -2;
  std::array<std::int8_t, 2> on = {replicated, replicated};
  friend auto operator<=>(const Sharding&, const Sharding&) = default;
};

// The mesh dimensions in the order in which they change: the first before the second, unless the second still splits
// what the first is to split.
constexpr std::array<int, 2> conversion_order(const Sharding& from, const Sharding& to) {
  const bool second_first = to.on[0] >= 0 && from.on[0] != to.on[0] && from.on[1] == to.on[0];
  return second_first ? std::array{1, 0} : std::array{0, 1};
}

// The IPUs of one dimension of a mesh, 0 for t1 and 1 for t2, whose neighbours are `rank_stride` apart.
GroupShape mesh_group(TensorParallel mesh, int dimension, std::int64_t rank_stride);

// A change of sharding along one mesh dimension.
struct Conversion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int mesh = 0;     // 0: t1, 1: t2
  Bytes bytes;      // of the tensor as one IPU holds it at its larger end, before or after
  int operand = 0;  // k: input k before the op; -1 - k: output k after it
  friend auto operator<=>(const Conversion&, const Conversion&) = default;
};

struct OpSharding {
  std::array<int, 2> axis = {-1, -1};   // the axis split over t1 and t2; -1: the op is done by all
  std::vector<Sharding> in, out;        // as the op reads and, after conversion, leaves them
  std::vector<Conversion> conversions;  // inputs first
  friend auto operator<=>(const OpSharding&, const OpSharding&) = default;
};

struct GraphSharding {
  TensorParallel mesh;
  std::vector<OpSharding> ops;         // each once, however many ops it is of
  std::vector<std::int32_t> op_index;  // by OpId: in `ops`
  std::vector<Sharding> tensors;       // by TensorId, as stored between ops
  const OpSharding& of(OpId op) const {
    return ops[static_cast<std::size_t>(op_index[static_cast<std::size_t>(op.index)])];
  }
  const Sharding& of(TensorId t) const { return tensors[static_cast<std::size_t>(t.index)]; }
};

// Seconds of a collective over one mesh dimension; bytes as in Conversion.
using CollectiveTime = std::function<Seconds(CollectiveKind, int mesh, Bytes)>;
// Seconds that an op's own work takes on one IPU, from the local extents of its axes.
using WorkTime = std::function<Seconds(OpId, std::span<const std::int64_t> extents)>;

// Tensors below this size are kept whole on every IPU when no split suits their user: biases, norms.
inline constexpr std::int64_t kSmallWeight = 65536;

struct ShardRules {
  std::int64_t small_weight = kSmallWeight;  // elements; smaller weights do not begin a split
  // Activations that cross blocks or wait for the backward pass are split over t1 along their first data dimension
  // that it divides, and so is the work on them.
  bool split_activations = false;
  // Where that is cheaper, weights of up to this size are gathered for each use instead of activations being joined.
  Bytes gather_limit = Bytes(std::numeric_limits<std::int64_t>::max());
  bool collapse = true;  // blocks with equal signatures are solved once; false: each on its own, for comparison
};

// The splits with least time. Blocks with equal signatures are solved once.
GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules = {});
// The same, for who has the facts of the graph.
struct ShardFacts;
GraphSharding shard(const Graph& graph, const ShardFacts& facts, TensorParallel mesh, const CollectiveTime& collective,
                    const WorkTime& work, const ShardRules& rules);

// Extents of an op's axes on one IPU of the mesh; a share rounds up.
std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh);
// A tensor's extent in one dimension on one IPU, and its elements there.
std::int64_t local_extent(const Shape& shape, std::size_t dimension, const Sharding& sharding, TensorParallel mesh);
std::int64_t local_volume(const Shape& shape, const Sharding& sharding, TensorParallel mesh);

}  // namespace superstep
