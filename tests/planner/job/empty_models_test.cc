// SPDX-License-Identifier: Apache-2.0
// Valid graphs that leave nothing to run, and tensors without elements: an error that says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/sweep/plan_job.h"
#include "tests/onnx/onnx_file_maker.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::FileMaker;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What planning the file for inference says.
std::string answer(const FileMaker& file) {
  const json job = {
      {"model", {{"onnx", file.write()}}}, {"machine", "toy"}, {"task", "inference"}, {"batch", {{"global", 2}}}};
  try {
    plan_job(read_job(job, "job"), {});
  } catch (const Error& e) {
    return e.what();
  }
  return "planned";
}

FileMaker one_node(const char* op_type, const test::Extents& shape, int type = test::kFloat) {
  FileMaker file(15);
  file.input("x", shape).output("y", type);
  file.node(op_type, {"x"}, {"y"});
  return file;
}

TEST(EmptyModels, LeaveNothingToRun) {
  const auto nothing = AllOf(HasSubstr("job#/model: found no op to run in model.onnx"), HasSubstr("expected an op"));
  EXPECT_THAT(answer(one_node("Identity", {2, 3})), nothing);
  EXPECT_THAT(answer(one_node("Dropout", {2, 3})), nothing) << "inference drops nothing";
  EXPECT_THAT(answer(one_node("Shape", {2, 3}, test::kInt64)), nothing) << "known while importing";
  FileMaker cast = one_node("CastLike", {2, 3});
  cast.model.mutable_graph()->mutable_node(0)->add_input("like");
  cast.input("like", {1});
  EXPECT_THAT(answer(cast), nothing) << "of the same type";
}

TEST(EmptyModels, HaveTensorsWithoutElements) {
  EXPECT_THAT(answer(one_node("Relu", {2, 0})),
              AllOf(HasSubstr("job#/model: found size 0 of dimension 1 of tensor \"x\" in model.onnx"),
                    HasSubstr("expected at least 1")));
}

TEST(EmptyModels, AreNotThoseOfOneOp) { EXPECT_EQ(answer(one_node("Relu", {2, 1})), "planned"); }

}  // namespace
}  // namespace superstep
