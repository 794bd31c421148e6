// SPDX-License-Identifier: Apache-2.0
// The ONNX backend test suite: all cases that we import give the values it says.
#include "tests/onnx/suite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/execute/evaluate.h"

namespace superstep::testing {
namespace {

bool near(double found, double expected) {
  if (std::isnan(found) && std::isnan(expected)) return true;
  return found == expected || std::abs(found - expected) <= 1e-5 + 1e-3 * std::abs(expected);
}

// Where the two differ; empty when they do not.
std::string difference(const Array& found, const Array& expected) {
  if (found.info != expected.info) {
    return std::string(name_of(found.info.type)) + to_text(found.info.shape) + ", expected " +
           std::string(name_of(expected.info.type)) + to_text(expected.info.shape);
  }
  for (std::int64_t i = 0; i < expected.info.elements(); ++i) {
    if (near(found.at(i), expected.at(i))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(found.at(i)) + ", expected " +
           std::to_string(expected.at(i));
  }
  return "";
}

void expect_values(const std::string& name, const ImportResult& imported, const SuiteData& data) {
  Values feeds;
  for (TensorId t : imported.graph.inputs) feeds[t] = data.inputs.at(imported.graph.tensors[t].name);
  const Values values = evaluate(imported.graph, feeds, {});
  for (std::size_t i = 0; i < imported.outputs.size(); ++i) {
    const TensorId t = imported.names.at(imported.outputs[i]);
    const auto at = values.find(t);
    const Array& found = at == values.end() ? *imported.graph.tensors[t].data : at->second;
    EXPECT_EQ(difference(found, data.outputs[i]), "") << name << " output " << imported.outputs[i];
  }
}

TEST(OnnxSuite, ImportedCasesGiveTheExpectedValues) {
  const auto cases = suite_cases();
  if (cases.empty()) GTEST_SKIP() << "the ONNX backend test data are not installed (Debian: libonnx-testdata)";
  // Their random numbers are NumPy's.
  const std::set<std::string> random = {"test_training_dropout", "test_training_dropout_default"};
  int passed = 0;
  for (const auto& folder : cases) {
    const auto data = suite_data(folder);
    if (!data || random.contains(folder.filename().string())) continue;
    const ImportResult imported = import_case(folder, *data);
    if (!imported.unsupported.empty()) continue;
    expect_values(folder.filename().string(), imported, *data);
    ++passed;
  }
  EXPECT_GE(passed, 840);
}

}  // namespace
}  // namespace superstep::testing
