// SPDX-License-Identifier: Apache-2.0
// What each field of a plan draws from in the declared space.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

struct SpaceField {
  std::string name;       // as in a job's plan; members of a field behind a dot
  nlohmann::json values;  // a list; text where it has no end, or is chosen like cuts
  std::string text() const;
};

// Of all parts of a job (job_parts()): the fields of their settings, and those in which the parts differ.
std::vector<SpaceField> space_fields(const Job& job, const std::vector<Job>& parts, std::int64_t statistics_group);

}  // namespace superstep
