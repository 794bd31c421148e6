// SPDX-License-Identifier: Apache-2.0
// The partitions of a job's machine on which the job may run, and the lists of values in a job's plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

// Returns JSON pointers to the lists of values that are searched one value at a time: number formats, serialisation
// (lists and ranges), and cuts.
std::vector<nlohmann::json_pointer<std::string>> lists_of(const nlohmann::json& job);

// Returns the IPUs that plans may use, as far as the job's limits allow, in descending order: those of the machine, of
// its partitions, and the product of pinned degrees. Throws Error if the limits exclude every size.
std::vector<std::int64_t> partition_sizes(const Job& job);

// Returns the product of tensor_parallel, pipeline_stages and replicas. Returns nullopt unless each has one pinned
// value and the machine has as many IPUs.
std::optional<std::int64_t> pinned_ipus(const Job& job);

// Returns the same job on a partition of `ipus` IPUs. `ipus` is one of partition_sizes().
Job on_partition(const Job& job, std::int64_t ipus);

}  // namespace superstep
