// SPDX-License-Identifier: Apache-2.0
// What counts as a case, and that a wrong value fails one.
#include "model/conformance/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/json_reader.h"
#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

onnx_file::TensorProto truth_tensor(const std::vector<int>& values) {
  onnx_file::TensorProto tensor;
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  tensor.set_data_type(kBool);
  for (int v : values) tensor.add_int32_data(v);
  return tensor;
}

// y = x + 1 and n = m + m, as a suite case with one set of data.
struct SuiteCaseFolder {
  fs::path root = fresh_folder(), folder = root / "node" / "test_made";
  FileMaker file;

  SuiteCaseFolder() {
    file.input("x", {3}).input("m", {2}, kInt64).output("y").output("n", kInt64).floats("one", {1}, {1});
    file.node("Add", {"x", "one"}, {"y"});
    file.node("Add", {"m", "m"}, {"n"});
    write();
    set(0, {2, 3, 4}, {10, 12});
  }
  void write() const {
    fs::create_directories(folder);
    write_file(folder / "model.onnx", file.bytes());
  }
  void set(int number, const std::vector<float>& y, const std::vector<std::int64_t>& n) const {
    const fs::path data = folder / ("test_data_set_" + std::to_string(number));
    fs::create_directories(data);
    const auto size = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
    write_file(data / "input_0.pb", float_tensor("x", {3}, {1, 2, 3}).SerializeAsString());
    write_file(data / "input_1.pb", integer_tensor("m", {2}, {5, 6}).SerializeAsString());
    write_file(data / "output_0.pb", float_tensor("y", {size(y)}, y).SerializeAsString());
    write_file(data / "output_1.pb", integer_tensor("n", {size(n)}, n).SerializeAsString());
  }
  CaseResult run() const { return run_case(find_cases({root.string()}).at(0)); }
};

void expect(const CaseResult& result, CaseStatus status, const std::string& why) {
  EXPECT_EQ(result.status, status) << result.why;
  EXPECT_THAT(result.why, HasSubstr(why));
}

TEST(Conformance, EveryDataSetBesideAModelIsACase) {
  const SuiteCaseFolder made;
  made.set(3, {2, 3, 4}, {10, 12});
  const std::vector<ConformanceCase> cases = find_cases({made.root.string(), made.folder.string()});
  ASSERT_EQ(cases.size(), 2u);  // each once, though found twice
  EXPECT_EQ(cases[0].name, "node/test_made/test_data_set_0");
  EXPECT_EQ(cases[1].name, "node/test_made/test_data_set_3");
  EXPECT_EQ(group_of(cases[0]), "node");
  for (const ConformanceCase& c : cases) expect(run_case(c), CaseStatus::passed, "");
}

TEST(Conformance, WithoutACaseThereIsAnError) {
  const fs::path empty = fresh_folder();
  EXPECT_THROW(find_cases({empty.string()}), Error);
  EXPECT_THROW(find_cases({(empty / "nowhere").string()}), Error);
}

TEST(Conformance, ValuesNearEnoughPass) {
  const SuiteCaseFolder made;
  made.set(0, {2.0019f, 3, 4}, {10, 12});
  expect(made.run(), CaseStatus::passed, "");
}

TEST(Conformance, WrongValuesFail) {
  const SuiteCaseFolder made;
  made.set(0, {2, 3.01f, 4}, {10, 12});
  expect(made.run(), CaseStatus::failed, "output \"y\": element 1 is 3, expected 3.0");
  made.set(0, {2, 3, 4}, {10, 13});
  expect(made.run(), CaseStatus::failed, "output \"n\": element 1 is 12, expected 13; 1 of 2 differ");
}

TEST(Conformance, WrongShapesAndTypesFail) {
  const SuiteCaseFolder made;
  made.set(0, {2, 3, 4, 5}, {10, 12});
  expect(made.run(), CaseStatus::failed, "is fp32[3], expected fp32[4]");
  made.set(0, {2, 3, 4}, {10, 12});
  write_file(made.folder / "test_data_set_0" / "output_1.pb", truth_tensor({1, 1}).SerializeAsString());
  expect(made.run(), CaseStatus::failed, "is int64[2], expected bool[2]");
}

TEST(Conformance, MissingAndDamagedFilesFailWithTheirName) {
  const SuiteCaseFolder made;
  const fs::path file = made.folder / "test_data_set_0" / "input_1.pb";
  fs::remove(file);
  expect(made.run(), CaseStatus::failed, file.string() + ": no such file");
  write_file(file, "\xff\xff\xff");
  expect(made.run(), CaseStatus::failed, file.string() + ": not a tensor");
  write_file(made.folder / "model.onnx", "\xff\xff\xff");
  expect(made.run(), CaseStatus::failed, "model.onnx");
}

TEST(Conformance, WhatIsNotImportedIsSkippedWithItsReason) {
  SuiteCaseFolder made;
  made.file.node("NoSuchOperator", {"x"}, {"z"});
  made.write();
  expect(made.run(), CaseStatus::skipped, "operator not imported: NoSuchOperator");
  SuiteCaseFolder strings;
  strings.file.input("words", {2}, 8);
  strings.write();
  expect(strings.run(), CaseStatus::skipped, "another type: string");
}

TEST(Conformance, RandomNumbersAreSkipped) {
  SuiteCaseFolder made;
  made.file.floats("ratio", {}, {0.5});
  made.file.node("Constant", {}, {"on"}).set("value", truth_tensor({1}));
  made.file.node("Dropout", {"y", "ratio", "on"}, {"dropped"});
  made.file.output("dropped");
  made.write();
  write_file(made.folder / "test_data_set_0" / "output_2.pb", float_tensor("", {3}, {0, 0, 8}).SerializeAsString());
  expect(made.run(), CaseStatus::skipped, "random numbers of another generator: Dropout");
}

// references

class References : public ::testing::TestWithParam<std::string> {
 protected:
  static fs::path source() { return fs::path(SUPERSTEP_TEST_DATA) / "references" / GetParam(); }
  // A copy of the reference that `change` was applied to.
  template <class Change>
  static CaseResult changed(Change&& change) {
    const fs::path copy = fresh_folder() / "reference";
    fs::copy(source(), copy, fs::copy_options::recursive);
    nlohmann::json json = parse_json_file((copy / "reference.json").string());
    change(json, copy);
    write_file(copy / "reference.json", json.dump());
    return run_case(find_cases({copy.string()}).at(0));
  }
};

TEST_P(References, LossGradientsAndCurvesAreThoseOfPyTorch) {
  const std::vector<ConformanceCase> cases = find_cases({source().string()});
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].name, "references/" + GetParam() + "/train.onnx");
  const nlohmann::json json = parse_json_file((source() / "reference.json").string());
  EXPECT_EQ(json.at("curves").size(), 6u);
  expect(run_case(cases[0]), CaseStatus::passed, "");
}

TEST_P(References, AnotherLossFails) {
  const CaseResult result = changed(
      [](auto& json, const auto&) { json["loss0_fp32"] = json["loss0_fp32"].template get<double>() * 1.00003; });
  EXPECT_EQ(result.status, CaseStatus::failed);
  EXPECT_THAT(result.why, StartsWith("loss: "));
}

TEST_P(References, AnotherGradientFails) {
  const CaseResult norm = changed([](auto& json, const auto&) {
    for (auto& gradient : json["grads"]) gradient["norm"] = gradient["norm"].template get<double>() * 1.01;
  });
  EXPECT_EQ(norm.status, CaseStatus::failed);
  EXPECT_THAT(norm.why, StartsWith("gradient: "));
  const CaseResult sample = changed([](auto& json, const auto&) {
    auto& last = *--json["grads"].end();
    last["samples"][0] = last["samples"][0].template get<double>() + 1e-3 * last["norm"].template get<double>();
  });
  EXPECT_EQ(sample.status, CaseStatus::failed);
  EXPECT_THAT(sample.why, StartsWith("gradient: "));
}

TEST_P(References, AnotherCurveFails) {
  for (const char* kind : {"sgd", "sgd_momentum", "adam", "adamw", "lamb", "lars"}) {
    const CaseResult result = changed([&](auto& json, const auto&) {
      auto& curve = json["curves"][kind];
      for (const char* precision : {"fp32", "fp64"}) {
        curve[precision][3] = curve[precision][3].template get<double>() * 1.003;
      }
    });
    EXPECT_EQ(result.status, CaseStatus::failed);
    EXPECT_THAT(result.why, StartsWith("curve: " + std::string(kind) + " step 3"));
  }
}

// The optimizers are told apart: none gives another's curve.
TEST_P(References, AnotherLearningRateFails) {
  const CaseResult result = changed([](auto& json, const auto&) {
    auto& rate = json["curves"]["lars"]["lr"];
    rate = rate.template get<double>() * 1.05;
  });
  EXPECT_EQ(result.status, CaseStatus::failed);
  EXPECT_THAT(result.why, StartsWith("curve: lars"));
}

TEST_P(References, AnotherTargetIsRefused) {
  const CaseResult result = changed([](const auto&, const fs::path& copy) {
    write_file(copy / "test_data_set_0" / "target.pb", integer_tensor("target", {2}, {1, 1}).SerializeAsString());
  });
  const bool open_batch = GetParam() == std::string("graph_h8");  // then the import compares what is left
  expect(result, CaseStatus::failed,
         open_batch ? "input \"target\": shape [2] given, the file says [-1, 7]"
                    : "target.pb: is int64[2], input \"target\" expects int64[");
}

INSTANTIATE_TEST_SUITE_P(OfTheRepository, References,
                         ::testing::Values("encoder_h16", "images_w8", "lstm_h10", "experts_h8", "graph_h8",
                                           "llama_h16", "shared_h6"),
                         [](const auto& test) { return test.param; });

void expect_all_passed(const std::string& folder, std::size_t count) {
  const std::vector<ConformanceCase> cases = find_cases({SUPERSTEP_TEST_DATA "/" + folder});
  EXPECT_EQ(cases.size(), count);
  for (const ConformanceCase& c : cases) {
    const CaseResult result = run_case(c);
    EXPECT_EQ(result.status, CaseStatus::passed) << c.name << ": " << result.why;
  }
}

// Expected are the values of onnxruntime (edges/README.md).
TEST(Conformance, OperatorsAtEdgeValues) { expect_all_passed("edges", 16); }
// Expected are the values of PyTorch (make_operators.py).
TEST(Conformance, OperatorsAsInPyTorch) { expect_all_passed("operators", 31); }

}  // namespace
}  // namespace superstep::test
