// SPDX-License-Identifier: Apache-2.0
// Jobs whose model is an XLA program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/sweep/plan_job.h"
#include "tests/onnx/onnx_file_maker.h"
#include "tests/planner/world.h"
#include "tests/xla/mlp.h"

namespace superstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string job_file(const json& model, const json& plan = json::object()) {
  const json job = {{"model", model}, {"machine", "ipu-pod4"}, {"plan", plan}, {"batch", {{"global", 64}}}};
  return test::write_file(test::fresh_folder() / "job.json", job.dump());
}

std::string sharded_program() {
  return test::mlp_program({.batch = 8, .in = 32, .hidden = 64, .classes = 10, .data_parts = 2, .model_parts = 2})
      .write();
}

TEST(HloJob, IsPinnedToTheProgramsSharding) {
  const Job job = load_job(job_file({{"hlo", sharded_program()}}));
  EXPECT_EQ(job.json()["plan"], (json{{"replicas", 2}, {"tensor_parallel", 2}}));
  const Graph graph = build_graph(job, 4);
  EXPECT_EQ(graph.parameters(), 32 * 64 + 64 + 64 * 10);
  EXPECT_TRUE(graph.loss.valid());
}

TEST(HloJob, PinsOfTheJobComeFirst) {
  const Job job = load_job(job_file({{"hlo", sharded_program()}}, {{"replicas", 4}, {"tensor_parallel", {1, 2}}}));
  EXPECT_EQ(job.json()["plan"], (json{{"replicas", 4}, {"tensor_parallel", {1, 2}}}));
}

TEST(HloJob, NamesItsWeightsAndThoseThatStay) {
  const json model = {{"hlo", sharded_program()}, {"weights", {"params.?1", "params.w2"}}, {"frozen", {"params.w1"}}};
  const Graph graph = build_graph(load_job(job_file(model)), 8);
  EXPECT_EQ(graph.parameters(), 32 * 64 + 64 + 64 * 10);
  std::int64_t frozen = 0;
  for (const Tensor& t : graph.tensors) frozen += t.kind == TensorKind::weight && t.frozen ? t.info.elements() : 0;
  EXPECT_EQ(frozen, 32 * 64);
}

TEST(HloJob, KnowsOneKindOfFileFromTheOther) {
  const auto error = [](const json& model) {
    try {
      load_job(job_file(model));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("read");
  };
  EXPECT_THAT(error({{"onnx", sharded_program()}}),
              HasSubstr("which is an XLA program; expected an ONNX file, or \"hlo\""));
  EXPECT_THAT(error({{"hlo", test::FileMaker().write()}}), HasSubstr("which is no XLA program (HloProto)"));
  EXPECT_THAT(error({{"hlo", sharded_program()}, {"weights", {"w3"}}}),
              HasSubstr("weights \"w3\" is the name of no floating parameter"));
}

}  // namespace
}  // namespace superstep
