// SPDX-License-Identifier: Apache-2.0
// Python source text for the writers of settings.
#pragma once

#include <string>
#include <vector>

#include "traces/export/settings/settings.h"

namespace superstep::exports {

// Return the value as a Python literal.
std::string python(const std::string& text);
std::string python(double value);
const char* python(bool value);
// Returns a list of literals, broken into lines of at most 120 columns. Each further line begins with `indent` spaces.
std::string python_list(const std::vector<std::string>& literals, int indent);

// Returns the available memory proportion by IPU: {"IPU0": 0.25, ...} with the prefix "IPU", {0: 0.25, ...} without
// one.
std::string python_proportions(const PlanSettings& plan, const char* prefix);
// Returns a comment and "SERIALISATION = {"head": 5}", the factors of ops that run in parts. `by` names the function in
// the comment that the factors are for. Empty: no op runs in parts.
std::string python_serialisation(const PlanSettings& plan, const char* by);
// Returns `fp16` or `fp32`, by the plan's precision of `what` ("first_moment").
std::string number_type(const PlanSettings& plan, const char* what, const char* fp16, const char* fp32);

}  // namespace superstep::exports
