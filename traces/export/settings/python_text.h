// SPDX-License-Identifier: Apache-2.0
// Python as the writers of settings need it.
#pragma once

#include <string>
#include <vector>

#include "traces/export/settings/settings.h"

namespace superstep::exports {

std::string python(const std::string& text);  // a literal
std::string python(double value);
const char* python(bool value);
// A list of literals, broken into lines of at most 120 columns that `indent` spaces begin.
std::string python_list(const std::vector<std::string>& literals, int indent);

// {"IPU0": 0.25, ...}, or by numbers alone.
std::string python_proportions(const PlanSettings& plan, const char* prefix);
// "FACTORS = {"head": 5}": operators that run in parts, or nothing where there are none.
std::string python_serialisation(const PlanSettings& plan, const char* by);
// Of the optimizer's state: "torch.float16" with the prefix "torch.float" and "16", "32".
std::string number_type(const PlanSettings& plan, const char* what, const char* fp16, const char* fp32);

}  // namespace superstep::exports
