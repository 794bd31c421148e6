// SPDX-License-Identifier: Apache-2.0
// Cases with known results, in files: the ONNX backend test suite's form (model.onnx beside
// test_data_set_N), and training references (train.onnx beside reference.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/conformance/case.h"

namespace superstep {

std::string_view name_of(CaseStatus status);

// Cases at or below the folders, by name, each once. Throws Error where there is no such folder, or no case below it.
std::vector<ConformanceCase> find_cases(const std::vector<std::string>& folders);

// Never throws an Error: what is wrong with a case is its result. Skipped are cases that nothing but another type of
// value, another source of random numbers or an operator that is not imported keeps from running.
CaseResult run_case(const ConformanceCase& c);

// The folder a case counts under: the first part of its name.
std::string group_of(const ConformanceCase& c);

// Reasons that differ only in a name or number as one: "why" up to its first ": ".
std::string kind_of(const std::string& why);

}  // namespace superstep
