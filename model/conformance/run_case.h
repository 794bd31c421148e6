// SPDX-License-Identifier: Apache-2.0
// The two kinds of cases. Both throw Error on what does not fit.
#pragma once

#include <map>

#include "model/conformance/case.h"
#include "model/onnx/import.h"

namespace superstep::conformance {

CaseResult run_suite_case(const ConformanceCase& c);
CaseResult run_reference_case(const ConformanceCase& c);

// A suite case up to where values are compared.
struct SuiteCase {
  std::string skip;  // why it is not imported; empty when the rest is there
  ImportResult imported;
  std::map<std::string, Array> inputs;  // by name
  std::vector<Array> outputs;           // expected, in the file's order
  bool in_bfloat16 = false;             // an input or output is of that type, which we compute in fp32
};
SuiteCase load_suite_case(const ConformanceCase& c);

}  // namespace superstep::conformance
