// SPDX-License-Identifier: Apache-2.0
// The larger reference networks, where they lie beside the repository.
#include <gtest/gtest.h>

#include <filesystem>

#include "model/conformance/conformance.h"

namespace superstep {
namespace {

TEST(ReferenceNetworks, LossGradientsAndCurvesAreThoseOfPyTorch) {
  const std::string root = SUPERSTEP_REFERENCE_NETWORKS;
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "there is no folder " << root;
  int trained = 0;
  for (const ConformanceCase& c : find_cases({root})) {
    const CaseResult result = run_case(c);
    EXPECT_EQ(result.status, CaseStatus::passed) << c.name << ": " << result.why;
    trained += c.model.filename() == "train.onnx" ? 1 : 0;
  }
  EXPECT_GE(trained, 4);
}

}  // namespace
}  // namespace superstep
