// SPDX-License-Identifier: Apache-2.0
// Exact mode: the plan's bits are the plain model's.
#include <gtest/gtest.h>

#include "model/graph/builder.h"
#include "model/numerics/contract.h"
#include "model/zoo/zoo.h"
#include "setup.h"

namespace superstep {
namespace {

constexpr std::int64_t kHalfGptUnits = 8;

// Half precision with an fp32 copy of the weights, dropout, and statistics in fp32.
MakeGraph half_gpt(const OptimizerSpec& optimizer) {
  return [optimizer](std::int64_t samples) {
    TransformerSpec spec;
    spec.name = "tiny", spec.family = "gpt";
    spec.layers = 2, spec.hidden = 16, spec.heads = 4, spec.ffn = 32, spec.vocabulary = 24;
    spec.sequence_length = spec.positions = 4;
    spec.dropout = 0.1, spec.attention_dropout = 0.1;
    Graph graph = build(spec, samples, DType::fp16);
    add_optimizer(graph, add_gradients(graph), optimizer);
    return graph;
  };
}

class Fp16 : public testing::TestWithParam<Rounding> {
 protected:
  static Plan plan(TensorParallel t, std::int64_t p, std::int64_t r, std::int64_t m, std::int64_t g) {
    Plan plan = plain_plan(kHalfGptUnits, t, p, r, m, g);
    plan.precision.weights = plan.precision.activations = DType::fp16;
    return plan;
  }
  void expect_same_bits(const Plan& plan) const {
    const OptimizerSpec optimizer{.kind = "lamb", .epsilon = 1e-3, .master_weights = true};
    SCOPED_TRACE(label(plan));
    Lowered lowered(half_gpt(optimizer), plan, optimizer);
    lowered.context.rounding = GetParam();
    EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "");
  }
  // Of a graph of one unit, in four micro-batches of one sample and of two.
  void expect_same_bits(const MakeGraph& make, TensorParallel t, std::int64_t chunk) const {
    for (std::int64_t micro_batch : {1, 2}) {
      Plan plan = plain_plan(1, t, 1, 1, micro_batch, 4);
      plan.precision.weights = plan.precision.activations = DType::fp16;
      Lowered lowered(make, plan);
      lowered.context.rounding = GetParam();
      lowered.context.chunk = chunk;
      EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "") << "micro-batches of " << micro_batch;
    }
  }
};

TEST_P(Fp16, HasTheBitsOfThePlainModel) {
  expect_same_bits(plan({2, 1}, 1, 1, 1, 1));
  expect_same_bits(plan({1, 1}, 1, 1, 1, 2));
  expect_same_bits(plan({2, 2}, 2, 1, 1, 3));
  expect_same_bits(plan({1, 1}, 2, 4, 2, 2));
  Plan sharded = plan({2, 1}, 2, 2, 1, 4);
  sharded.replicated_tensor_sharding = {2, 2, 2};
  sharded.recompute = {Recompute::layer};
  expect_same_bits(sharded);
  sharded.activation_sharding = ActivationSharding::throughout;
  expect_same_bits(sharded);
}

// Positions as PyTorch exports them: rows of one sample's shape, whose gradient is a sum over samples.
Graph with_positions(std::int64_t samples) {
  Graph graph;
  graph.name = "positions";
  graph.micro_batch = samples;
  GraphBuilder b(graph);
  b.begin_unit("all");
  const TensorId x = b.input("x", DType::fp16, {samples, 8, 16});
  const TensorId places = b.constant(Array::from(DType::int64, {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}));
  const TensorId sum = b.binary("add", x, b.gather(b.weight("positions", DType::fp16, {12, 16}), places));
  graph.loss = b.scale(b.reduce("sum", b.unary("tanh", sum), {0, 1, 2}, false), 1.0 / 128);
  graph.outputs = {graph.loss};
  add_optimizer(graph, add_gradients(graph), {});
  return graph;
}

TEST_P(Fp16, OneSamplesGradientOfAWeightIsRoundedAsTheBatchs) { expect_same_bits(with_positions, {1, 1}, 2); }

// Time before samples, and both in one dimension.
Graph time_major(std::int64_t samples) {
  Graph graph;
  graph.name = "time major";
  graph.micro_batch = samples;
  GraphBuilder b(graph);
  b.begin_unit("all");
  const TensorId x = b.transpose(b.input("x", DType::fp16, {samples, 4, 16}), {1, 0, 2});
  const TensorId product = b.matmul(b.reshape(x, {4 * samples, 16}), b.weight("w", DType::fp16, {16, 16}));
  graph.loss = b.scale(b.reduce("sum", b.unary("tanh", product), {0, 1}, false), 1.0 / 128);
  graph.outputs = {graph.loss};
  add_optimizer(graph, add_gradients(graph), {});
  return graph;
}

TEST_P(Fp16, SamplesThatAreNotOutermostAreRoundedAsTheBatchs) { expect_same_bits(time_major, {2, 1}, 1); }

INSTANTIATE_TEST_SUITE_P(Roundings, Fp16, testing::Values(Rounding::nearest, Rounding::stochastic),
                         [](const auto& name) {
                           return name.param == Rounding::nearest ? "to_nearest" : "stochastic";
                         });

// One product, whose contracted axis the plan cuts in two.
MakeGraph product(std::int64_t contracted) {
  return [contracted](std::int64_t samples) {
    Graph graph;
    graph.name = "product";
    graph.micro_batch = samples;
    GraphBuilder b(graph);
    b.begin_unit("products");
    const TensorId x = b.input("x", DType::fp32, {samples, 8, 16});
    const TensorId up = b.matmul(x, b.weight("up", DType::fp32, {16, contracted}));
    graph.outputs = {b.matmul(b.unary("relu", up), b.weight("down", DType::fp32, {contracted, 16}))};
    return graph;
  };
}

const Executed::Cut* cut_of_down(const Lowered& lowered, const Executed& executed, std::int64_t contracted) {
  for (const auto& [op, cut] : executed.cuts) {
    if (lowered.graph.ops[op].def->name == "matmul" && cut.steps == contracted) return &cut;
  }
  return nullptr;
}

TEST(ExactCuts, AtNodesCostNoBit) {
  const Lowered lowered(product(48), plain_plan(1, {4, 1}));  // 24 chunks of 2: 24, 12, 6
  const Executed executed = lowered.run(Arithmetic::exact);
  EXPECT_EQ(lowered.unequal_bits(executed), "");
  const Executed::Cut* cut = cut_of_down(lowered, executed, 48);
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(cut->parts, 4);
  EXPECT_TRUE(cut->nodes);
}

// 20 steps in 4 parts: 5 each, which no chunk of 2 ends at.
TEST(ExactCuts, ElsewhereAreToldAndClose) {
  const Lowered lowered(product(20), plain_plan(1, {4, 1}));
  const Executed executed = lowered.run(Arithmetic::exact);
  const Executed::Cut* cut = cut_of_down(lowered, executed, 20);
  ASSERT_NE(cut, nullptr);
  EXPECT_FALSE(cut->nodes);
  EXPECT_NE(lowered.unequal_bits(executed), "");
  EXPECT_EQ(lowered.difference(executed, 1e-6), "");
}

// What a device does, sums added one after another around a ring, has other bits: the comparison can fail.
TEST(ExactCuts, SummedAsARingDoesHaveOtherBits) {
  const Lowered lowered(product(48), plain_plan(1, {4, 1}));
  const Executed executed = lowered.run(Arithmetic::device);
  EXPECT_EQ(lowered.difference(executed, 1e-6), "");
  EXPECT_NE(lowered.unequal_bits(executed), "");
}

}  // namespace
}  // namespace superstep
