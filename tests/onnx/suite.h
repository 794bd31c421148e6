// SPDX-License-Identifier: Apache-2.0
// The cases of the ONNX backend test suite, where it is installed (Debian: libonnx-testdata).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/onnx/import.h"

namespace superstep::testing {

// Folders with a model.onnx, sorted; empty when the suite is not installed.
std::vector<std::filesystem::path> suite_cases();

// Tensors of test_data_set_0, by their names in the model; none when one has a type we do not have.
struct SuiteData {
  std::map<std::string, Array> inputs;
  std::vector<Array> outputs;  // in the model's order
};
std::optional<SuiteData> suite_data(const std::filesystem::path& folder);

// Types as in the file; inputs that must be known are taken from `data`.
ImportResult import_case(const std::filesystem::path& folder, const SuiteData& data);

}  // namespace superstep::testing
