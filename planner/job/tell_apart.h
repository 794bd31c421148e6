// SPDX-License-Identifier: Apache-2.0
// Fields in which plans differ, and labels that name the differences.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/job/plan_json.h"

namespace superstep {

struct DifferentField {
  std::string field;  // path of the field or member: "location.weights"
  nlohmann::json first, second;
};
// Returns every field in which the two plans differ.
std::vector<DifferentField> different_fields(const Plan& first, const Plan& second);

// Returns the label() of each plan. A label that an earlier plan already has gets a suffix with up to two fields in
// which the two plans differ. Example: "t=1 p=1 r=16 m=4 g=8, state streaming".
std::vector<std::string> distinct_labels(const std::vector<const Plan*>& plans);

}  // namespace superstep
