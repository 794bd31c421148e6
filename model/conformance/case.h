// SPDX-License-Identifier: Apache-2.0
// A case with a known result, and what came of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace superstep {

struct ConformanceCase {
  std::string name;             // "node/test_relu/test_data_set_0", "reference/lstm_l2_h48/train.onnx"
  std::filesystem::path model;  // model.onnx or train.onnx
  std::filesystem::path data;   // the test_data_set_N, or the reference.json
};

enum class CaseStatus : std::uint8_t { passed, failed, skipped };

struct CaseResult {
  CaseStatus status = CaseStatus::passed;
  std::string why;  // empty when passed
};

}  // namespace superstep
