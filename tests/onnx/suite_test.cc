// SPDX-License-Identifier: Apache-2.0
// The ONNX backend test suite: no case fails, and enough run.
#include <gtest/gtest.h>

#include <map>

#include "model/conformance/conformance.h"

namespace superstep {
namespace {

TEST(OnnxSuite, CasesGiveTheExpectedValues) {
  const std::string root = SUPERSTEP_ONNX_TEST_DATA;
  if (root.empty()) GTEST_SKIP() << "the ONNX backend test data are not installed (Debian: libonnx-testdata)";
  std::map<std::string, int> passed;
  for (const ConformanceCase& c : find_cases({root})) {
    const CaseResult result = run_case(c);
    EXPECT_NE(result.status, CaseStatus::failed) << c.name << ": " << result.why;
    EXPECT_EQ(result.why.empty(), result.status == CaseStatus::passed) << c.name;
    if (result.status == CaseStatus::passed) ++passed[group_of(c)];
  }
  EXPECT_GE(passed["node"], 879);
  EXPECT_GE(passed["simple"] + passed["pytorch-converted"] + passed["pytorch-operator"], 134);
}

}  // namespace
}  // namespace superstep
