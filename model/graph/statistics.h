// SPDX-License-Identifier: Apache-2.0
// Statistics groups: the samples that one mean and variance of batch norm is taken over. A group lies within a
// micro-batch, which then has one or several, or goes on over the same micro-batch of consecutive replicas.
#pragma once

#include <cstdint>
#include <string>

#include "model/graph/graph.h"

namespace superstep {

// Replicas that one group goes on over; 1: it lies within a micro-batch. A group of 0 is the micro-batch. Throws Error
// when micro-batches of this size cannot be cut into such groups, nor such groups into them.
std::int64_t replicas_of_group(std::int64_t group, std::int64_t micro_batch);
// The same of a graph.
std::int64_t replicas_of_group(const Graph& graph);

struct GroupFault {
  std::string field;  // of the plan; empty: there is none
  std::string why;
};
// Why a plan would split a group over micro-batches that do not run at the same time.
GroupFault check_group(std::int64_t group, std::int64_t micro_batch, std::int64_t replicas);

}  // namespace superstep
