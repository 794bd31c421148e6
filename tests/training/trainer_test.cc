// SPDX-License-Identifier: Apache-2.0
// Training of small transformers, plain and under plans.
#include "model/training/trainer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../execute/setup.h"
#include "model/graph/builder.h"
#include "model/training/compare_values.h"
#include "model/training/data_set.h"
#include "small_models.h"

namespace superstep {
namespace {

using testing::HasSubstr;

OptimizerSpec adam() { return {.kind = "adam", .learning_rate = 0.02, .epsilon = 1e-3}; }

TEST(Trainer, LearnsAFewSamplesByHeart) {
  TransformerSpec spec = tiny("gpt2-small");
  spec.dropout = spec.attention_dropout = 0;
  Graph graph = build(spec, 4, DType::fp32);
  add_optimizer(graph, add_gradients(graph), adam());
  const DataSet data = DataSet::random(graph, 1, 4);
  Trainer trainer(graph, plain_run(graph), fresh_state(graph, 1));
  std::vector<double> losses;
  for (int s = 0; s < 30; ++s)
    losses.push_back(trainer.step(read_batch(data, {1, 1, 1, 4}, s)).results.at("loss").at(0));
  EXPECT_NEAR(losses[0], std::log(24), 0.2);  // knows nothing
  EXPECT_LT(losses[29], 0.5 * losses[0]);
  EXPECT_EQ(trainer.state().step, 30);
}

// Under a plan, by the ids of the micro-batch's graph.
struct Planned {
  explicit Planned(const Plan& plan, LossScaling scaling = LossScaling::none, DType type = DType::fp32)
      : lowered([=](std::int64_t samples) { return tiny_training("gpt2-small", samples, adam(), scaling, type); }, plan,
                adam()) {}
  Trainer::Run run() {
    return [this](const Values& feeds, const KernelContext& context) {
      return execute(lowered.program, lowered.table(), lowered.plan, feeds, context).values;
    };
  }
  Trainer trainer(std::uint64_t seed) { return {lowered.graph, run(), fresh_state(lowered.graph, seed)}; }
  Trainer plain(std::uint64_t seed) {
    return {lowered.global, plain_run(lowered.global), fresh_state(lowered.global, seed)};
  }
  BatchSplit split() const {
    return {1, lowered.plan.replicas, lowered.plan.gradient_accumulation, lowered.plan.micro_batch};
  }
  Lowered lowered;
};

Difference apart_after(Planned& planned, int steps) {
  Trainer under_plan = planned.trainer(3), plain = planned.plain(3);
  const DataSet data = DataSet::random(planned.lowered.global, 3, 0);
  Difference all;
  for (int s = 0; s < steps; ++s) {
    const NamedValues inputs = read_batch(data, planned.split(), s);
    const StepResult a = under_plan.step(inputs), b = plain.step(inputs);
    EXPECT_EQ(a.not_finite, "");
    EXPECT_EQ(a.gradients.size(), 28U);
    all.add(compare_values(a.results, b.results));
    all.add(compare_values(a.gradients, b.gradients));
    all.add(compare_values(under_plan.state().tensors, plain.state().tensors));
  }
  return all;
}

TEST(Trainer, UnderAPlanStaysWithThePlainModel) {
  for (const Plan& plan : {plain_plan(kTinyUnits, {2, 1}, 1, 1, 2, 2), plain_plan(kTinyUnits, {}, 2, 2, 1, 3)}) {
    Planned planned(plan);
    const Difference d = apart_after(planned, 3);
    EXPECT_LT(d.max_relative, 1e-4) << label(plan) << " at " << d.worst;
  }
}

TEST(Trainer, OnOneIpuWithOneMicroBatchHasTheBitsOfThePlainModel) {
  Planned planned(plain_plan(kTinyUnits, {}, 1, 1, 4, 1));
  Trainer under_plan = planned.trainer(3), plain = planned.plain(3);
  const NamedValues inputs = DataSet::random(planned.lowered.global, 3, 0).read({0, 4});
  const StepResult a = under_plan.step(inputs), b = plain.step(inputs);
  EXPECT_TRUE(compare_values(a.results, b.results).identical);
}

TEST(Trainer, WithAFixedLossScaleOfAPowerOfTwoTrainsAsWithout) {
  for (const Plan& plan : {plain_plan(kTinyUnits), plain_plan(kTinyUnits, {2, 1}, 2, 1, 1, 3)}) {
    Planned with(plan, LossScaling::fed), without(plan);
    TrainingState state = fresh_state(with.lowered.graph, 5);
    state.loss_scale.factor = 256;
    Trainer scaled(with.lowered.graph, with.run(), state), plain = without.trainer(5);
    const NamedValues inputs = DataSet::random(with.lowered.global, 5, 0).read({0, plan.global_batch()});
    const StepResult a = scaled.step(inputs), b = plain.step(inputs);
    EXPECT_EQ(a.results, b.results);
    for (const auto& [name, gradient] : b.gradients) {
      const std::vector<double> small = gradient.values(), large = a.gradients.at(name).values();
      for (std::size_t i = 0; i < small.size(); ++i) ASSERT_EQ(large[i], 256 * small[i]) << name;
    }
    EXPECT_EQ(scaled.state().tensors, plain.state().tensors) << label(plan);
  }
}

// Plain SGD moves the weights by the rate times the clipped gradients.
TEST(Trainer, ClipsGradientsToANormOfAllTogether) {
  constexpr double kRate = 0.5, kNorm = 0.125;
  const OptimizerSpec sgd{.kind = "sgd", .learning_rate = kRate, .clip_norm = kNorm};
  const Graph graph = tiny_training("gpt2-small", 4, sgd, LossScaling::fed, DType::fp32);
  TrainingState start = fresh_state(graph, 2);
  start.loss_scale.factor = 1024;
  Trainer clipped(graph, plain_run(graph), start, kNorm), free(graph, plain_run(graph), start, 1e6);
  const DataSet data = DataSet::random(graph, 2, 4);
  const StepResult a = clipped.step(read_batch(data, {1, 1, 1, 4}, 0)),
                   b = free.step(read_batch(data, {1, 1, 1, 4}, 0));
  ASSERT_GT(a.gradient_norm, kNorm);
  EXPECT_EQ(a.gradient_norm, b.gradient_norm);
  EXPECT_EQ(a.clipped_by, kNorm / a.gradient_norm);
  EXPECT_EQ(b.clipped_by, 1);
  const auto moved = [&](const Trainer& trainer) {
    double squares = 0;
    for (const auto& [name, value] : trainer.state().tensors) {
      for (std::int64_t i = 0; i < value.info.elements(); ++i)
        squares += std::pow(value.at(i) - start.tensors.at(name).at(i), 2);
    }
    return std::sqrt(squares);
  };
  EXPECT_NEAR(moved(clipped), kRate * kNorm, 1e-5);
  EXPECT_NEAR(moved(free), kRate * a.gradient_norm, 1e-4);
}

TEST(Trainer, RefusesAStateOfAnotherModel) {
  const Graph graph = tiny_training("gpt2-small", 1, adam());
  TrainingState state = fresh_state(graph, 1);
  state.tensors.at("layer0/attention/out").info.shape = {4, 64};
  EXPECT_THAT(message_of([&] { Trainer(graph, plain_run(graph), state); }),
              HasSubstr("tensor \"layer0/attention/out\": found fp32[4, 64], expected fp32[16, 16]"));
  state = fresh_state(graph, 1);
  state.tensors.erase("layer0/attention/out");
  EXPECT_THAT(message_of([&] { Trainer(graph, plain_run(graph), state); }), HasSubstr("found no values for tensor"));
  state = fresh_state(graph, 1);
  state.tensors["more"] = Array();
  EXPECT_THAT(message_of([&] { Trainer(graph, plain_run(graph), state); }), HasSubstr("tensors, expected"));
}

// ---- not finite

// One weight, whose gradient is the input: the test says what is finite.
struct OneWeight {
  Graph graph;
  OneWeight() {
    GraphBuilder b(graph);
    const TensorId w = b.weight("w", DType::fp16, {1}), x = b.input("x", DType::fp16, {1});
    graph.loss = b.cast(b.reduce("sum", b.binary("mul", w, x), {0}, false), DType::fp32);
    graph.outputs = {graph.loss};
    OptimizerSpec sgd{.kind = "sgd", .learning_rate = 1};
    add_optimizer(graph, add_gradients(graph, LossScaling::fed), sgd, LossScaling::fed);
  }
  Trainer trainer(LossScale scale) const {
    TrainingState state{.tensors = {{"w", Array::from(DType::fp16, {1}, {0})}}, .loss_scale = scale};
    return {graph, plain_run(graph), state};
  }
  static NamedValues input(double x) { return {{"x", Array::from(DType::fp16, {1}, {x})}}; }
};

TEST(Trainer, LeavesOutUpdatesUntilTheAutomaticLossScaleFits) {
  const OneWeight model;
  Trainer trainer = model.trainer(LossScale::found_while_training());
  // 2^15 x 8 is beyond fp16's 65504, also 2^14 x 8 and 2^13 x 8; 2^12 x 8 is not.
  for (double expected : {0x1p15, 0x1p14, 0x1p13}) {
    const StepResult result = trainer.step(OneWeight::input(8));
    EXPECT_EQ(result.loss_scale, expected);
    EXPECT_TRUE(result.skipped);
    EXPECT_EQ(result.not_finite, "");
    EXPECT_EQ(trainer.state().tensors.at("w").at(0), 0);
  }
  const StepResult result = trainer.step(OneWeight::input(8));
  EXPECT_EQ(result.loss_scale, 0x1p12);
  EXPECT_FALSE(result.skipped);
  EXPECT_EQ(trainer.state().tensors.at("w").at(0), -8);
  EXPECT_EQ(trainer.state().step, 4);
}

TEST(Trainer, DoublesTheAutomaticLossScaleAfterGoodUpdates) {
  const OneWeight model;
  LossScale scale{.factor = 4, .automatic = true, .growth_every = 3};
  Trainer trainer = model.trainer(scale);
  std::vector<double> used;
  for (int s = 0; s < 7; ++s) used.push_back(trainer.step(OneWeight::input(0.5)).loss_scale);
  EXPECT_EQ(used, (std::vector<double>{4, 4, 4, 8, 8, 8, 16}));
}

TEST(Trainer, StopsWhereAFixedLossScaleOverflows) {
  const OneWeight model;
  Trainer trainer = model.trainer({.factor = 0x1p15});
  const StepResult result = trainer.step(OneWeight::input(8));
  EXPECT_EQ(result.not_finite, "gradient of w");
  EXPECT_TRUE(std::isinf(result.value));
  EXPECT_FALSE(result.skipped);
  EXPECT_EQ(trainer.state().step, 0);
  EXPECT_EQ(trainer.state().tensors.at("w").at(0), 0);
}

TEST(Trainer, StopsWhereNoLossScaleHelps) {
  const OneWeight model;
  Trainer trainer = model.trainer({.factor = 1, .automatic = true});
  EXPECT_EQ(trainer.step(OneWeight::input(INFINITY)).not_finite, "loss");  // 0 x infinity
  Trainer fine = model.trainer({.factor = 1, .automatic = true});
  EXPECT_EQ(fine.step(OneWeight::input(60000)).not_finite, "");
  EXPECT_EQ(fine.step(OneWeight::input(60000)).not_finite, "loss");  // -60000 x 60000
}

}  // namespace
}  // namespace superstep
