// SPDX-License-Identifier: Apache-2.0
// Changes of a job's pins with which the pins leave a legal plan. Whether a plan fits is not looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/cost/tables.h"

namespace superstep {

// A pin, and a value that it may have instead.
struct ChangedPin {
  std::string field;                  // "replicas", "location.weights", "batch.global"
  std::vector<std::string> pointers;  // JSON pointers into the job; several pins of cuts are one field
  nlohmann::json value;               // the legal value nearest to the pinned one; null: the pin is to be left out
};
using LegalChange = std::vector<ChangedPin>;

// Returns the changes of one pin each that make a job with an illegal plan legal; if there are none, a change of two
// pins. Software has no say. Returns an empty list if the pins are legal, or if no change of two pins helps. `tables`
// belong to the job. `defaults`: fields that are not pinned have their defaults.
std::vector<LegalChange> legal_changes(Tables& tables, bool defaults);

// Returns the same as text that follows a reason: "; legal with pipeline_stages = 8, or with replicas = 2"; empty:
// none.
std::string legal_changes_text(Tables& tables, bool defaults);

}  // namespace superstep
