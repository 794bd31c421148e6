// SPDX-License-Identifier: Apache-2.0
// A job on the partitions of its machine, and the lists of values in a job's plan.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

// Returns where a job has lists of values that are searched one by one: formats, serialisation (lists and ranges),
// cuts.
std::vector<nlohmann::json::json_pointer> lists_of(const nlohmann::json& job);

// Returns the sizes of the job's machine and its partitions that its limits allow, the largest first. Throws Error
// where none is.
std::vector<std::int64_t> partition_sizes(const Job& job);

// Returns the same job on so many IPUs of its machine, one of its partition_sizes().
Job on_partition(const Job& job, std::int64_t ipus);

}  // namespace superstep
