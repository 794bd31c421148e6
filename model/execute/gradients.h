// SPDX-License-Identifier: Apache-2.0
// What replicas do together: sums of gradients, slices of an update, and the joining of slices.
#pragma once

#include <vector>

#include "model/execute/cluster.h"
#include "model/machine/links.h"

namespace superstep {

// Slice `k` of `degree` even slices of a piece, as positions of its values. Scalars are not sliced.
Range slice_of(const Local& piece, std::int64_t k, std::int64_t degree);

// Poison, or zeros, outside of slice k.
enum class Outside { poison, zero };
void keep_slice(Local& piece, std::int64_t k, std::int64_t degree, Outside outside);

// Copies slice `k` of `degree`.
void copy_slice(const Local& from, Local& to, std::int64_t k, std::int64_t degree);

// Of a weight or its new value that replicas keep in slices (replicated_tensor_sharding.weights): poison where another
// replica has it; and one that has what all `members` have.
void keep_weight_slices(Local& weight, const Plan& plan, std::int64_t replica);
Local join_weight_slices(const std::vector<LocalPtr>& weights, const Plan& plan,
                         const std::vector<std::int64_t>& members);

// The replicas that take part with replica `r` in a collective over `group`, and the place of `r` among them.
std::vector<std::int64_t> replicas_with(const Plan& plan, GroupShape group, std::int64_t r);
std::int64_t place_among(const Plan& plan, GroupShape group, std::int64_t r);

// One accumulator of one IPU group becomes its sum over replicas; of a reduce-scatter each replica keeps its slice.
// in_loop: gradients of more micro-batches will be added to it.
void exchange_accumulator(Cluster& cluster, const Plan& plan, std::int64_t group, GroupShape among, AccumulatorKey key,
                          CollectiveKind kind, bool in_loop);
// One more micro-batch's summand.
void add_summand(Accumulator& to, TensorId summand, const LocalPtr& value);
// The accumulator of a borrowed weight joins its owner's.
void join_accumulator(const Accumulator& from, Accumulator& to);

// A new value, made in slices, of which holder k has shard k.
Local join_slices(const std::vector<LocalPtr>& holders, const Plan& plan);

// A tensor put together from the pieces of all ranks.
Array assemble(const TensorInfo& info, const std::vector<LocalPtr>& ranks);

}  // namespace superstep
