// SPDX-License-Identifier: Apache-2.0
// In which fields plans differ, and names that say so.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/job/plan_json.h"

namespace superstep {

struct DifferentField {
  std::string field;  // "location.weights"
  nlohmann::json first, second;
};
std::vector<DifferentField> different_fields(const Plan& first, const Plan& second);

// label() of each; one that an earlier plan has already is followed by what the plan has in other ways than that one,
// two fields at most: "t=1 p=1 r=16 m=4 g=8, state streaming".
std::vector<std::string> distinct_labels(const std::vector<const Plan*>& plans);

}  // namespace superstep
