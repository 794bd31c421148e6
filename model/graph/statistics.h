// SPDX-License-Identifier: Apache-2.0
// Statistics groups of batch norm: a group is the samples that one mean and variance is taken over. A micro-batch holds
// one or several whole groups, or a group extends over the same micro-batch of several consecutive replicas.
#pragma once

#include <cstdint>
#include <string>

#include "model/graph/graph.h"

namespace superstep {

// Returns the number of replicas that one group of `group` samples extends over; 1: the group lies within a
// micro-batch. A group of 0 is the whole micro-batch. Throws Error if neither number of samples divides the other.
std::int64_t replicas_of_group(std::int64_t group, std::int64_t micro_batch);
// Returns the number of replicas for Graph::statistics_group and Graph::micro_batch.
std::int64_t replicas_of_group(const Graph& graph);

// A reason why a plan does not go with a statistics group.
struct GroupFault {
  std::string field;  // field of the plan that is at fault; empty: no fault
  std::string why;    // in words; empty: no fault
};
// Checks that the samples of each group run at the same time: sizes divide each other, and replicas hold whole groups.
GroupFault check_group(std::int64_t group, std::int64_t micro_batch, std::int64_t replicas);

}  // namespace superstep
