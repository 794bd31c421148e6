// SPDX-License-Identifier: Apache-2.0
#include "model/training/checkpoint.h"

#include <gmock/gmock.h>

#include "../execute/setup.h"
#include "model/training/data_set.h"
#include "small_models.h"

namespace superstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 4;

OptimizerSpec lamb() { return {.kind = "lamb", .learning_rate = 0.05, .weight_decay = 0.01, .epsilon = 1e-3}; }
Graph gpt(std::int64_t samples) { return tiny_training("gpt2-small", samples, lamb(), LossScaling::fed); }

// Steps of training, over samples that come again; the state at their end.
TrainingState trained(const Graph& graph, const Trainer::Run& run, TrainingState state, int steps) {
  const DataSet data = DataSet::random(graph, state.seed, 10);
  Trainer trainer(graph, run, std::move(state));
  for (int s = 0; s < steps; ++s) {
    const StepResult result = trainer.step(read_batch(data, {1, 1, 1, kBatch}, trainer.state().step));
    EXPECT_EQ(result.not_finite, "");
  }
  return trainer.state();
}

TrainingState fresh(const Graph& graph) {
  TrainingState state = fresh_state(graph, 6);
  state.loss_scale = {.factor = 0.5, .automatic = true, .growth_every = 3};
  return state;
}

void expect_equal(const TrainingState& a, const TrainingState& b) {
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.loss_scale.factor, b.loss_scale.factor);
  EXPECT_EQ(a.loss_scale.good_steps, b.loss_scale.good_steps);
}

TEST(Checkpoint, TwoStepsAndTwoMoreAreFour) {
  const Folder folder;
  const Graph graph = gpt(kBatch);
  const TrainingIdentity identity = identity_of(graph, lamb());
  write_checkpoint(folder.file("c"), trained(graph, plain_run(graph), fresh(graph), 2), identity);
  TrainingState half = read_checkpoint(folder.file("c"), identity, 6);
  half.loss_scale.growth_every = 3;
  EXPECT_EQ(half.step, 2);
  expect_equal(trained(graph, plain_run(graph), half, 2), trained(graph, plain_run(graph), fresh(graph), 4));
}

// What one plan wrote goes on under another as it would after that plan's own steps: nothing but state counts.
TEST(Checkpoint, GoesOnUnderAnotherPlan) {
  const Folder folder;
  const Lowered split(gpt, plain_plan(kTinyUnits, {2, 1}, 1, 1, kBatch), lamb());
  const Lowered piped(gpt, plain_plan(kTinyUnits, {}, 2, 1, 1, kBatch), lamb());
  const auto run_of = [](const Lowered& lowered) -> Trainer::Run {
    return [&lowered](const Values& feeds, const KernelContext& context) {
      return execute(lowered.program, lowered.table(), lowered.plan, feeds, context).values;
    };
  };
  const TrainingIdentity identity = identity_of(split.graph, lamb());
  EXPECT_EQ(identity_of(piped.graph, lamb()).model, identity.model);
  const TrainingState half = trained(split.graph, run_of(split), fresh(split.graph), 2);
  write_checkpoint(folder.file("c"), half, identity);
  TrainingState read = read_checkpoint(folder.file("c"), identity_of(piped.graph, lamb()), 6);
  read.loss_scale.growth_every = 3;
  expect_equal(trained(piped.graph, run_of(piped), read, 2), trained(piped.graph, run_of(piped), half, 2));
}

TEST(Checkpoint, OfAnotherModelOptimizerOrSeedIsRefused) {
  const Folder folder;
  const Graph graph = gpt(1);
  const TrainingIdentity identity = identity_of(graph, lamb());
  write_checkpoint(folder.file("c"), fresh(graph), identity);
  const auto why = [&](const TrainingIdentity& other, std::uint64_t seed) {
    return message_of([&] { read_checkpoint(folder.file("c"), other, seed); });
  };
  EXPECT_EQ(why(identity, 6), "");
  EXPECT_THAT(why(identity, 7), AllOf(HasSubstr("another seed"), HasSubstr("found \"6\", expected \"7\"")));
  EXPECT_THAT(why(identity_of(graph, {.kind = "adam"}), 6), HasSubstr("another optimizer: found \"lamb"));
  TransformerSpec spec = tiny("gpt2-small");
  spec.heads = 2;  // weights of the same names and shapes
  const Graph fewer_heads = build(spec, 1, DType::fp32);
  EXPECT_THAT(why(identity_of(fewer_heads, lamb()), 6), HasSubstr("another model"));
  write_checkpoint(folder.file("c"), {}, {.model = identity.model, .optimizer = ""});
  EXPECT_THAT(why(identity, 6), HasSubstr("another optimizer"));
}

TEST(Checkpoint, IdentityIsThatOfTheModelNotOfTheBatch) {
  const Graph one = gpt(1), many = gpt(8);
  EXPECT_EQ(identity_of(one, lamb()).model, identity_of(many, lamb()).model);
}

}  // namespace
}  // namespace superstep
