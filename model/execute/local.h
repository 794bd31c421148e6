// SPDX-License-Identifier: Apache-2.0
// What one IPU of the executed machine holds of a tensor, and how such pieces move: slices, sums, and
// the collectives of a tensor-parallel mesh. What nobody brought is poison: NaN, or a huge negative integer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/execute/pieces.h"
#include "model/graph/op_def.h"
#include "model/program/sharding.h"

namespace superstep {

// Part `part` of `parts` even shares of a range; the last ones may be short or empty.
Range share_of(Range range, std::int64_t part, std::int64_t parts);
// True if `outer` contains all of `inner`, of the same rank.
bool contains(const Block& outer, const Block& inner);
// The region that an IPU of the mesh holds of a tensor.
Block shard_region(const Shape& shape, const Sharding& sharding, TensorParallel mesh, std::int64_t rank);
// An IPU's place on one mesh dimension, and the ranks that differ from it there only.
std::int64_t place_on(TensorParallel mesh, std::int64_t rank, int dimension);
std::vector<std::int64_t> peers_on(TensorParallel mesh, std::int64_t rank, int dimension);

void poison(Array& array, std::int64_t begin, std::int64_t end);
Local poisoned(DType type, Block region, const Sharding& on = {});
// run(from, to, n) for every run of n elements that both have, by position in their values.
void for_common(const Local& from, const Local& to,
                const std::function<void(std::int64_t from, std::int64_t to, std::int64_t n)>& run);
double combined(double a, double b, Reduction reduction);
// Copies what both have.
void copy_overlap(const Local& from, Local& to);
void combine_overlap(const Local& from, Local& to, Reduction reduction);
// The sum of equal regions, as a ring of IPUs forms it: slice k comes to IPU k by way of all others, from k + 1 on, and
// is rounded to the pieces' type at each.
Local ring_sum(const std::vector<const Local*>& pieces);
// Of the pieces of a tensor of that type; null ones have none.
Bytes largest_bytes(const std::vector<LocalPtr>& ranks, DType type);
Local cut(const Local& from, const Block& region, const Sharding& on);

// A collective along one mesh dimension: `ranks` has every rank's piece before and after; `target` is
// the dimension the results are split along, or Sharding::replicated. `settle` rounds sums that are complete.
void run_collective(TensorParallel mesh, int dimension, std::int8_t target, const Shape& shape, Reduction reduction,
                    const std::function<void(Local&)>& settle, std::vector<LocalPtr>& ranks);

}  // namespace superstep
