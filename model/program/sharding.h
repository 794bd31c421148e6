// SPDX-License-Identifier: Apache-2.0
// How the tensors and ops of a graph are split over the t IPUs of a mesh, and the collectives that join shards.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"
#include "model/machine/links.h"
#include "model/program/plan.h"
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

// Returns the extents of an op's axes on one IPU of the mesh, rounded up.
std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh);
// Returns the extent of one dimension of a tensor on one IPU, rounded up.
std::int64_t local_extent(const Shape& shape, std::size_t dimension, const Sharding& sharding, TensorParallel mesh);
// Returns the number of a tensor's elements on one IPU.
std::int64_t local_volume(const Shape& shape, const Sharding& sharding, TensorParallel mesh);

}  // namespace superstep
