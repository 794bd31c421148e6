// SPDX-License-Identifier: Apache-2.0
// The values that each field of a plan draws from in the declared space, for `plan --space`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

struct SpaceField {
  std::string name;          // the key in a job's plan; a member follows a dot: "location.weights"
  nlohmann::json values;     // a list; or text for values without end, or chosen like cuts
  std::string text() const;  // the values in one line
};

// Returns the fields of a job's space: the fields of the settings of all parts (job_parts()), and the fields in which
// parts differ. `statistics_group`: samples; 0: none.
std::vector<SpaceField> space_fields(const Job& job, const std::vector<Job>& parts, std::int64_t statistics_group);

}  // namespace superstep
