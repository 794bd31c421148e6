// SPDX-License-Identifier: Apache-2.0
// What a plan cannot be is said in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/lower/toy.h"

namespace superstep {
namespace {

using testing::HasSubstr;

struct World {
  explicit World(const nlohmann::json& m)
      : machine(load_machine(m, "test")), graph(test::small_gpt(2, 64, 32, 96)), facts(graph) {}
  std::string why(const Plan& plan, bool training = true) const { return check_plan(plan, facts, machine, training); }
  Machine machine;
  Graph graph;
  GraphFacts facts;
};

Plan replicas(std::int64_t r) {
  Plan plan;
  plan.replicas = r;
  return plan;
}

TEST(CheckPlan, ShardsOfGradientsAndOfTheUpdateAreTheSame) {
  const World world("ipu-pod4");
  Plan plan = replicas(4);
  auto& rts = plan.replicated_tensor_sharding;
  for (std::int64_t gradients : {1, 2, 4}) {
    for (std::int64_t state : {1, 2, 4}) {
      rts.gradients = gradients, rts.optimizer_state = state;
      if (gradients == 1 || state == 1 || gradients == state) {
        EXPECT_EQ(world.why(plan), "");
      } else {
        EXPECT_THAT(world.why(plan), HasSubstr("replicated_tensor_sharding.gradients " + std::to_string(gradients) +
                                               " differs from optimizer_state " + std::to_string(state)));
      }
    }
  }
}

TEST(CheckPlan, RemoteMemoryIsOutsideOfTheReplica) {
  const World two("ipu-pod4"), pod("ipu-pod16");
  Plan plan = replicas(4);
  plan.location.optimizer_state = Location::remote_ipu;
  EXPECT_EQ(two.why(plan), "");
  plan.location.optimizer_state = Location::remote_machine;
  EXPECT_THAT(two.why(plan), HasSubstr("location.optimizer_state remote_machine needs an IPU-Machine outside of the "
                                       "replica's own, but ipu-pod4 has 1"));
  plan.replicas = 16;
  EXPECT_EQ(pod.why(plan), "");
  plan.replicas = 1, plan.tensor_parallel = {16, 1};
  EXPECT_THAT(pod.why(plan), HasSubstr("use streaming, or more replicas"));
  plan.location.optimizer_state = Location::remote_ipu;
  EXPECT_THAT(pod.why(plan), HasSubstr("needs an IPU outside of the replica, but its 16 IPUs are all of ipu-pod16"));
}

TEST(CheckPlan, BoundariesOfPhasesStayWhereTheNextPhaseNeedsThemAtOnce) {
  const World world("ipu-pod4");
  Plan plan = replicas(4);
  plan.stages = plan.phases = {0, 1}, plan.stage_ipu = {0, 0};
  plan.location.weights = plan.location.optimizer_state = Location::streaming;
  plan.recompute = {Recompute::layer, Recompute::layer};
  plan.phase_order = PhaseOrder::micro_batch_outer;
  EXPECT_EQ(world.why(plan, false), "");
  EXPECT_THAT(world.why(plan), HasSubstr("but backward passes need those of all phases; use streaming"));
  plan.phase_order = PhaseOrder::phase_outer;
  EXPECT_THAT(world.why(plan, false), HasSubstr("or phase_order micro_batch_outer"));
  plan.replicas = plan.pipeline_stages = 2, plan.phase_order = PhaseOrder::micro_batch_outer;
  EXPECT_THAT(world.why(plan, false), HasSubstr("begins on another of the 2 IPU groups; use streaming"));
  plan.location.activations = Location::streaming;
  EXPECT_EQ(world.why(plan, false), "");
  EXPECT_EQ(world.why(plan), "");
}

// hidden 64, ffn 256, vocabulary 96, 32 positions, heads of 16.
TEST(CheckPlan, SerialisationCutsIntoEqualParts) {
  const World world("ipu-pod4");
  Plan plan = replicas(4);
  plan.serialisation = {8, 2, 4, 16};
  EXPECT_EQ(world.why(plan), "");
  plan.serialisation = {128, 0, 0, 0};
  EXPECT_THAT(world.why(plan), HasSubstr("serialisation.embedding 128 does not cut embedding/gather"));
  EXPECT_THAT(world.why(plan), HasSubstr("its axis has 64 elements"));
  plan.serialisation = {0, 5, 0, 0};
  EXPECT_THAT(world.why(plan), HasSubstr("serialisation.head 5 does not cut head/logits into equal parts: its axis has "
                                         "96 or 64 elements"));
  plan.serialisation = {0, 0, 3, 0};
  EXPECT_THAT(world.why(plan), HasSubstr("serialisation.attention 3"));
  plan.serialisation = {0, 0, 0, 512};
  EXPECT_THAT(world.why(plan), HasSubstr("serialisation.feed_forward 512"));
}

TEST(CheckPlan, SerialisationWantsOpsToApplyTo) {
  World world("ipu-pod4");
  for (std::size_t u = 0; u < world.graph.units.size(); ++u) world.graph.units[UnitId(u)].role = UnitRole::other;
  Plan plan = replicas(4);
  plan.serialisation.attention = 2;
  EXPECT_THAT(world.why(plan), HasSubstr("serialisation.attention 2: the model has no attention"));
}

}  // namespace
}  // namespace superstep
