// SPDX-License-Identifier: Apache-2.0
// Messages for pins that leave no legal plan: they name the pin that was changed, and what they propose is legal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "planner/infeasible/evaluate_pinned.h"
#include "planner/infeasible/legal_changes.h"
#include "planner/job/check_pins.h"
#include "planner/job/plan_json.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::Draw;
using test::World;
using testing::HasSubstr;
using testing::Not;
using Pointer = json::json_pointer;

// Returns why the plan that a job pins is illegal; empty: it is legal.
std::string complaint(const json& job) {
  try {
    World world(job);
    evaluate_pinned(world.tables, 1);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

json changed(json job, const LegalChange& change) {
  for (const ChangedPin& pin : change) {
    for (const std::string& p : pin.pointers) {
      const Pointer at(p);
      if (pin.value.is_null())
        job.at(at.parent_pointer()).erase(at.back());
      else
        job[at] = pin.value;
    }
  }
  return job;
}

json fully_pinned(std::uint64_t seed) {
  Draw draw(seed);
  json job = test::small_gpt(nullptr);
  World world(job);
  const Plan plan = draw.chance(60) ? test::draw_pipeline(world, draw) : test::draw_phases(world, draw);
  job["batch"]["global"] = plan.global_batch();
  job["plan"] = to_json(plan);
  return job;
}

// Changes one value of a job. Returns the name of its field.
std::string change_one(json& job, Draw& draw) {
  const std::vector<std::string> degrees = {"replicas", "pipeline_stages", "micro_batch", "gradient_accumulation"};
  switch (draw.below(5)) {
    case 0: {
      job["plan"]["tensor_parallel"] = draw.of<int>({1, 2, 3, 4, 8});
      return "tensor_parallel";
    }
    case 1: {
      job["batch"]["global"] = 1 + draw.below(100);
      return "batch.global";
    }
    case 2: {
      const std::string member = draw.of<std::string>({"weights", "gradients", "optimizer_state"});
      job["plan"]["replicated_tensor_sharding"][member] = draw.of<int>({1, 2, 3, 4});
      return "replicated_tensor_sharding." + member;
    }
    case 3: {
      const std::string member = draw.of<std::string>({"weights", "gradients", "optimizer_state", "activations"});
      job["plan"]["location"][member] = draw.of<std::string>({"streaming", "remote_ipu", "remote_machine"});
      return "location." + member;
    }
    default: {
      const std::string field = draw.of(degrees);
      job["plan"][field] = 1 + draw.below(8);
      return field;
    }
  }
}

TEST(LegalChanges, NameTheOneValueThatWasChanged) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    json job = fully_pinned(seed);
    ASSERT_EQ(complaint(job), "") << job.dump();
    Draw draw(seed + 1000);
    const std::string field = change_one(job, draw);
    SCOPED_TRACE(std::to_string(seed) + ", changed " + field + ": " + job.dump());
    const std::string message = complaint(job);
    if (message.empty()) continue;
    ++seen[field];
    const std::string last = field.substr(field.find('.') == std::string::npos ? 0 : field.find('.') + 1);
    EXPECT_THAT(message, HasSubstr(last));
    World world(job);
    const std::vector<LegalChange> changes = legal_changes(world.tables, true);
    bool named = false;
    for (const LegalChange& change : changes) {
      named = named || (change.size() == 1 && change[0].field == field);
      EXPECT_EQ(complaint(changed(job, change)), "") << change[0].field << " = " << change[0].value;
    }
    EXPECT_TRUE(named) << message;
  }
  EXPECT_GE(seen.size(), 7);
}

TEST(LegalChanges, LegalPinsNeedNone) {
  World world(test::small_gpt({{"pipeline_stages", 2}}));
  EXPECT_TRUE(legal_changes(world.tables, false).empty());
  EXPECT_EQ(legal_changes_text(world.tables, true), "");
}

// A program spans 64 IPUs: 8 x 16 are too many, whatever the micro-batch.
TEST(LegalChanges, ProgramsThatSpanTooMuch) {
  json job = test::small_job("gpt2-medium", json::object(), "ipu-pod128");
  job["batch"] = {{"global", 1024}};
  job["plan"] = {{"tensor_parallel", 8}, {"pipeline_stages", 16}, {"replicas", 1}, {"micro_batch", 1}};
  const std::string message = complaint(job);
  EXPECT_THAT(message, HasSubstr("tensor_parallel x pipeline_stages = 128 is more than the 64 IPUs one program"));
  EXPECT_THAT(message, HasSubstr("with pipeline_stages = 8"));
  EXPECT_THAT(message, Not(HasSubstr("micro_batch: found")));
}

// Five stages need nine micro-batches; eight were given.
TEST(LegalChanges, PipelinesThatTooFewMicroBatchesFill) {
  json job = test::small_job("gpt2-small", json::object(), "ipu-pod16");
  job["batch"] = {{"global", 32}};
  job["plan"] = {{"tensor_parallel", 1},
                 {"pipeline_stages", 4},
                 {"replicas", 4},
                 {"micro_batch", 1},
                 {"layers_per_stage", {0, 4, 4, 4, 0}},
                 {"replicated_tensor_sharding", {{"optimizer_state", 4}}}};
  const std::string message = complaint(job);
  EXPECT_THAT(message, HasSubstr("gradient_accumulation 8 is less than the 9 micro-batches that 5 pipelined stages"));
  EXPECT_THAT(message, HasSubstr("with batch.global = "));
  EXPECT_THAT(message, Not(HasSubstr("replicated_tensor_sharding: no degrees")));
}

// 14 of a pod's 16 IPUs are used where the degrees say so.
TEST(LegalChanges, DegreesMayLeaveIpusIdle) {
  json job = test::small_job("bert-base", json::object(), "ipu-pod16");
  job["batch"] = {{"global", 128}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 14}, {"replicas", 1}, {"micro_batch", 1}};
  job["machine"] = {{"base", "ipu-pod16"}, {"partition", 14}};
  EXPECT_EQ(complaint(job), "");
}

}  // namespace
}  // namespace superstep
