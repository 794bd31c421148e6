// SPDX-License-Identifier: Apache-2.0
// One optimiser step of a small GPT under many plans equals the plain graph on the global batch.
#include <gtest/gtest.h>

#include "model/cost/cost.h"
#include "model/zoo/zoo.h"
#include "setup.h"

namespace superstep {
namespace {

constexpr std::int64_t kGptUnits = 8;  // embedding, 2 x (attention, ffn_up, ffn_down), head

OptimizerSpec optimizer(const std::string& kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.epsilon = 1e-3;  // a gradient that is nothing but rounding must not become a step of full length
  return spec;
}

MakeGraph gpt(const std::string& kind = "adam", std::int64_t ffn = 32) {
  return [kind, ffn](std::int64_t samples) {
    TransformerSpec spec;
    spec.name = "tiny", spec.family = "gpt";
    spec.layers = 2, spec.hidden = 16, spec.heads = 4, spec.ffn = ffn, spec.vocabulary = 24;
    spec.sequence_length = spec.positions = 4;
    spec.dropout = 0.1, spec.attention_dropout = 0.1;
    Graph graph = build(spec, samples, DType::fp32);
    add_optimizer(graph, add_gradients(graph), optimizer(kind));
    return graph;
  };
}

void expect_equal(const Plan& plan, const std::string& kind = "adam") {
  SCOPED_TRACE(label(plan));
  const Lowered lowered(gpt(kind), plan, optimizer(kind));
  ASSERT_EQ(static_cast<std::int64_t>(lowered.graph.units.size()), kGptUnits);
  EXPECT_EQ(lowered.difference(lowered.run()), "");
  EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "");
}

TEST(ExecuteGpt, OneIpu) {
  for (const char* kind : {"sgd", "sgd_momentum", "adam", "adamw", "lamb", "lars"}) {
    SCOPED_TRACE(kind);
    expect_equal(plain_plan(kGptUnits), kind);
  }
  expect_equal(plain_plan(kGptUnits, {}, 1, 1, 3));
}

TEST(ExecuteGpt, GradientAccumulation) {
  for (std::int64_t g = 2; g <= 6; ++g) expect_equal(plain_plan(kGptUnits, {}, 1, 1, 1, g));
}

TEST(ExecuteGpt, TensorParallel) {
  for (TensorParallel t : {TensorParallel{2, 1}, TensorParallel{1, 2}, TensorParallel{4, 1}, TensorParallel{2, 2}}) {
    for (const char* kind : {"sgd", "adam", "lamb"}) expect_equal(plain_plan(kGptUnits, t, 1, 1, 1, 2), kind);
  }
}

// Positions are split between the products of a layer; weights of tiny layers are gathered instead.
TEST(ExecuteGpt, ShardedActivations) {
  for (TensorParallel t : {TensorParallel{2, 1}, TensorParallel{4, 1}, TensorParallel{2, 2}}) {
    for (Recompute recompute : {Recompute::none, Recompute::layer}) {
      Plan plan = plain_plan(kGptUnits, t, 2, 1, 1, 3);
      plan.activation_sharding = ActivationSharding::throughout;
      plan.recompute = {recompute};
      for (const char* kind : {"adam", "lamb"}) expect_equal(plan, kind);
    }
  }
}

TEST(ExecuteGpt, Replicas) {
  for (std::int64_t r : {2, 4}) {
    for (std::int64_t g : {1, 2}) expect_equal(plain_plan(kGptUnits, {}, 1, r, 1, g));
  }
}

TEST(ExecuteGpt, Sharded) {
  for (std::int64_t degree : {2, 4}) {
    for (const char* kind : {"sgd", "adam", "lamb"}) {
      Plan plan = plain_plan(kGptUnits, {}, 1, 4, 1, 2);
      plan.replicated_tensor_sharding.optimizer_state = degree;
      expect_equal(plan, kind);
      plan.replicated_tensor_sharding.gradients = degree;
      expect_equal(plan, kind);
      plan.replicated_tensor_sharding.weights = degree;
      expect_equal(plan, kind);
    }
  }
}

TEST(ExecuteGpt, ShardedGradientsAlone) {
  Plan plan = plain_plan(kGptUnits, {}, 1, 4, 1, 3);
  plan.replicated_tensor_sharding.gradients = 2;
  expect_equal(plan);
}

TEST(ExecuteGpt, Pipelines) {
  for (Schedule schedule : {Schedule::sequential, Schedule::interleaved, Schedule::grouped}) {
    for (std::int64_t p : {1, 2, 3}) {
      for (std::int64_t wrap : {0, 1}) {
        SCOPED_TRACE(std::string(name_of(schedule)) + (wrap ? " returning to IPU 0" : ""));
        Plan plan = plain_plan(kGptUnits, {}, p, 1, 1, 6);
        cut_evenly(plan, kGptUnits, p + wrap);
        plan.schedule = schedule;
        expect_equal(plan);
      }
    }
  }
}

TEST(ExecuteGpt, Recompute) {
  for (Recompute recompute : {Recompute::none, Recompute::layer, Recompute::stage}) {
    for (Schedule schedule : {Schedule::sequential, Schedule::interleaved, Schedule::grouped}) {
      SCOPED_TRACE(name_of(recompute));
      Plan plan = plain_plan(kGptUnits, {}, 2, 1, 1, 5);
      plan.recompute = {recompute};
      plan.schedule = schedule;
      expect_equal(plan);
    }
  }
}

Plan phased_plan(std::int64_t p, std::int64_t phases, PhaseOrder order) {
  Plan plan = plain_plan(kGptUnits, {}, p, 1, 1, 4);
  cut_evenly(plan, kGptUnits, p * phases);
  plan.phases.clear();
  for (std::int64_t j = 0; j < phases; ++j) plan.phases.push_back(j * p);
  plan.phase_order = order;
  plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
  return plan;
}

TEST(ExecuteGpt, Phases) {
  for (PhaseOrder order : {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer}) {
    for (std::int64_t p : {1, 2}) {
      for (Recompute recompute : {Recompute::none, Recompute::layer, Recompute::stage}) {
        SCOPED_TRACE(std::string(name_of(order)) + " " + std::string(name_of(recompute)));
        Plan plan = phased_plan(p, p == 1 ? 4 : 3, order);
        plan.recompute = {recompute};
        expect_equal(plan);
      }
    }
  }
}

TEST(ExecuteGpt, PhasesWithIoTilesReplicasAndShards) {
  Plan plan = phased_plan(2, 2, PhaseOrder::phase_outer);
  plan.io_tiles = 1;
  plan.load = {LoadSchedule::preload, LoadSchedule::preload};
  plan.replicas = 2;
  plan.replicated_tensor_sharding.optimizer_state = 2;
  expect_equal(plan);
  plan.tensor_parallel = {2, 1};
  for (ActivationSharding sharding : {ActivationSharding::stored, ActivationSharding::throughout}) {
    plan.activation_sharding = sharding;
    expect_equal(plan);
  }
}

TEST(ExecuteGpt, EverythingAtOnce) {
  Plan plan = plain_plan(kGptUnits, {2, 1}, 2, 2, 2, 5);
  cut_evenly(plan, kGptUnits, 3);
  plan.recompute = {Recompute::layer};
  plan.replicated_tensor_sharding.optimizer_state = 2;
  expect_equal(plan);
  plan.schedule = Schedule::interleaved;
  plan.recompute = {Recompute::stage, Recompute::none, Recompute::layer};
  expect_equal(plan);
}

// Products too large for the memory they may take run in parts, one after the other.
TEST(ExecuteGpt, SerialisedProducts) {
  Plan plan = plain_plan(kGptUnits, {2, 1}, 1, 1, 2, 2);
  plan.available_memory_proportion = 0.0005;
  const Lowered lowered(gpt("adam", 256), plan, optimizer("adam"));
  bool serial = false;
  for (const Function& f : lowered.program.functions) {
    for (const Step& s : f.steps) serial = serial || (s.grid.size() == 4 && s.times > 1);
  }
  EXPECT_TRUE(serial);
  EXPECT_EQ(lowered.difference(lowered.run()), "");
}

TEST(ExecuteGpt, PinnedSerialisation) {
  Plan plan = plain_plan(kGptUnits, {2, 1}, 1, 1, 2, 2);
  plan.serialisation = {2, 4, 2, 8};
  expect_equal(plan);
}

MakeGraph bert() {
  return [](std::int64_t samples) {
    TransformerSpec spec = transformer_spec("bert-base");
    spec.layers = 2, spec.hidden = 16, spec.heads = 4, spec.ffn = 32, spec.vocabulary = 24;
    spec.sequence_length = spec.positions = 6;
    spec.masked_tokens = 2;
    Graph graph = build(spec, samples, DType::fp32);
    add_optimizer(graph, add_gradients(graph), optimizer("lamb"));
    return graph;
  };
}

TEST(ExecuteBert, PlansOfAllKinds) {
  const auto units = static_cast<std::int64_t>(bert()(1).units.size());
  for (TensorParallel t : {TensorParallel{1, 1}, TensorParallel{2, 1}, TensorParallel{2, 2}}) {
    for (std::int64_t p : {1, 2}) {
      Plan plan = plain_plan(units, t, p, 8 / t.size() / p > 1 ? 2 : 1, 1, 5);
      plan.recompute = {Recompute::layer};
      plan.replicated_tensor_sharding.optimizer_state = plan.replicas;
      SCOPED_TRACE(label(plan));
      const Lowered lowered(bert(), plan, optimizer("lamb"));
      EXPECT_EQ(lowered.difference(lowered.run(), 2e-5), "");
    }
  }
}

// What is executed is what is timed: collectives by kind and purpose, with their bytes.
void expect_collectives_of_timeline(const Plan& plan, const std::string& kind) {
  SCOPED_TRACE(label(plan));
  const Lowered lowered(gpt(kind), plan, optimizer(kind));
  const Timeline timeline = cost(lowered.program, lowered.table().model());
  for (Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::device}) {
    const Executed executed = lowered.run(arithmetic);
    EXPECT_EQ(executed.collectives.size(), timeline.collectives.size());
    for (const auto& [key, traffic] : timeline.collectives) {
      SCOPED_TRACE(std::string(name_of(key.first)) + " for " + std::string(name_of(key.second)));
      ASSERT_TRUE(executed.collectives.count(key));
      EXPECT_EQ(executed.collectives.at(key).count, traffic.count);
      EXPECT_EQ(executed.collectives.at(key).bytes, traffic.bytes);
    }
  }
}

TEST(ExecuteGpt, CollectivesAreThoseOfTheTimeline) {
  for (TensorParallel t : {TensorParallel{2, 1}, TensorParallel{4, 1}, TensorParallel{2, 2}}) {
    expect_collectives_of_timeline(plain_plan(kGptUnits, t, 1, 1, 1, 3), "adam");
  }
  for (const char* kind : {"adam", "lamb"}) {
    Plan plan = plain_plan(kGptUnits, {2, 1}, 1, 4, 1, 3);
    expect_collectives_of_timeline(plan, kind);
    plan.replicated_tensor_sharding.optimizer_state = 2;
    expect_collectives_of_timeline(plan, kind);
    plan.replicated_tensor_sharding = {2, 2, 2};
    expect_collectives_of_timeline(plan, kind);
    plan.replicated_tensor_sharding = {1, 4, 1};
    expect_collectives_of_timeline(plan, kind);
  }
}

// What stands on the tiles is what the memory was planned for, at every op.
void expect_live_as_costed(const Lowered& lowered) {
  SCOPED_TRACE(label(lowered.plan));
  const Executed executed = lowered.run(Arithmetic::device);
  EXPECT_EQ(lowered.difference(executed, 2e-5), "");
  EXPECT_EQ(lowered.other_live_bytes(executed), "");
}

TEST(ExecuteLive, IsWhatWasCosted) {
  for (TensorParallel t : {TensorParallel{1, 1}, TensorParallel{2, 1}, TensorParallel{2, 2}}) {
    for (std::int64_t p : {1, 2}) {
      for (Recompute recompute : {Recompute::none, Recompute::layer, Recompute::stage}) {
        for (ActivationSharding activations : {ActivationSharding::none, ActivationSharding::throughout}) {
          Plan plan = plain_plan(kGptUnits, t, p, 1, 2, 3);
          plan.recompute = std::vector<Recompute>(static_cast<std::size_t>(p), recompute);
          plan.activation_sharding = activations;
          expect_live_as_costed(Lowered(gpt("adam", 64), plan, optimizer("adam")));
        }
      }
    }
  }
}

TEST(ExecuteLive, OfSerialisedProductsAndShardedUpdates) {
  Plan plan = plain_plan(kGptUnits, {2, 1}, 1, 2, 2, 2);
  plan.serialisation = {2, 4, 2, 8};
  plan.replicated_tensor_sharding = {2, 2, 2};
  expect_live_as_costed(Lowered(gpt("lamb"), plan, optimizer("lamb")));
}

}  // namespace
}  // namespace superstep
