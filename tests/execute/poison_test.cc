// SPDX-License-Identifier: Apache-2.0
// A program that forgets to bring something computes NaN, not by luck the right number.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/error.h"
#include "model/zoo/zoo.h"
#include "setup.h"

namespace superstep {
namespace {

MakeGraph small_gpt(const OptimizerSpec& optimizer = {}) {
  return [optimizer](std::int64_t samples) {
    TransformerSpec spec;
    spec.name = "tiny", spec.family = "gpt";
    spec.layers = 1, spec.hidden = 16, spec.heads = 4, spec.ffn = 32, spec.vocabulary = 24;
    spec.sequence_length = spec.positions = 4;
    Graph graph = build(spec, samples, DType::fp32);
    add_optimizer(graph, add_gradients(graph), optimizer);
    return graph;
  };
}

template <class Match>
bool erase_node(Node& from, Match match) {
  const auto at = std::find_if(from.children.begin(), from.children.end(), match);
  if (at != from.children.end()) {
    from.children.erase(at);
    return true;
  }
  for (Node& child : from.children) {
    if (erase_node(child, match)) return true;
  }
  return false;
}

// Nobody reads what the op makes, or only ops of which that is true.
bool dead(const Graph& graph, OpId op) {
  for (TensorId t : graph.ops[op].outputs) {
    if (t == graph.loss || graph.tensors[t].kind == TensorKind::weight_gradient) return false;
    for (const auto& [old, made] : graph.updates) {
      if (t == made) return false;
    }
    for (std::size_t i = static_cast<std::size_t>(op.index) + 1; i < graph.ops.size(); ++i) {
      const auto& in = graph.ops[OpId(i)].inputs;
      if (std::find(in.begin(), in.end(), t) != in.end() && !dead(graph, OpId(i))) return false;
    }
  }
  return true;
}

// Every function of a program in turn without one of its steps.
template <class Match>
void expect_poison_without(const Lowered& lowered, Match match) {
  int tried = 0;
  for (std::size_t f = 0; f < lowered.program.functions.size(); ++f) {
    const auto& steps = lowered.program.functions[FunctionId(f)].steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Function& function = lowered.program.functions[FunctionId(f)];
      const OpId op = lowered.graph.units[function.unit]
                          .ops[static_cast<std::size_t>(function.pass)][static_cast<std::size_t>(steps[s].op)];
      if (!match(steps[s]) || dead(lowered.graph, op)) continue;
      Program changed = lowered.program;
      auto& less = changed.functions[FunctionId(f)].steps;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(s));
      EXPECT_TRUE(lowered.poisoned(lowered.run(changed)))
          << function.name << " step " << s << " of " << lowered.graph.ops[op].name;
      ++tried;
    }
  }
  EXPECT_GT(tried, 0);
}

TEST(Poison, TheProgramAsLoweredHasNone) {
  const Lowered lowered(small_gpt(), plain_plan(5, {2, 1}, 1, 1, 1, 2));
  EXPECT_FALSE(lowered.poisoned(lowered.run()));
}

TEST(Poison, EveryStepThatComputesIsNeeded) {
  const Lowered lowered(small_gpt(), plain_plan(5));
  expect_poison_without(lowered, [](const Step& s) { return s.kind == StepKind::compute && !s.grid.empty(); });
}

TEST(Poison, EveryCollectiveOfTensorParallelismIsNeeded) {
  const Lowered lowered(small_gpt(), plain_plan(5, {2, 1}));
  expect_poison_without(lowered, [](const Step& s) { return s.kind == StepKind::collective; });
}

TEST(Poison, TilesThatDoNotExistComputeNothing) {
  const Lowered lowered(small_gpt(), plain_plan(5));
  Program changed = lowered.program;
  changed.compute_tiles = 3;
  EXPECT_TRUE(lowered.poisoned(lowered.run(changed)));
  changed = lowered.program;
  for (Function& f : changed.functions) {
    for (Step& s : f.steps) {
      if (s.grid.size() == 2) s.grid[0] += changed.compute_tiles;
    }
  }
  EXPECT_TRUE(lowered.poisoned(lowered.run(changed)));
}

TEST(Poison, AGridOfTheWrongRankIsAnError) {
  const Lowered lowered(small_gpt(), plain_plan(5));
  Program changed = lowered.program;
  for (Function& f : changed.functions) {
    for (Step& s : f.steps) {
      if (!s.grid.empty()) s.grid.push_back(1);
    }
  }
  EXPECT_THROW(lowered.run(changed), InternalError);
}

TEST(Poison, EveryExchangeOfOperandsIsNeeded) {
  const Lowered lowered(small_gpt(), plain_plan(5));
  expect_poison_without(lowered, [](const Step& s) { return s.term == Term::operand_exchange; });
}

TEST(Poison, StagesSeeNothingThatWasNotCopied) {
  Plan plan = plain_plan(5, {}, 2, 1, 1, 3);
  const Lowered lowered(small_gpt(), plan);
  Program changed = lowered.program;
  ASSERT_TRUE(erase_node(changed.root, [](const Node& n) {
    return n.kind == Node::Kind::step && n.step.kind == StepKind::copy && n.step.term == Term::copy;
  }));
  EXPECT_TRUE(lowered.poisoned(lowered.run(changed)));
}

TEST(Poison, BackwardsReadNothingThatIsNotRecomputed) {
  Plan plan = plain_plan(5, {}, 1, 1, 1, 2);
  plan.recompute = {Recompute::layer};
  const Lowered lowered(small_gpt(), plan);
  EXPECT_FALSE(lowered.poisoned(lowered.run()));
  Program changed = lowered.program;
  ASSERT_TRUE(erase_node(changed.root, [](const Node& n) { return n.kind == Node::Kind::call && n.recompute; }));
  EXPECT_TRUE(lowered.poisoned(lowered.run(changed)));
}

TEST(Poison, SlicesOfAnUpdateAreGathered) {
  Plan plan = plain_plan(5, {}, 1, 2);
  plan.replicated_tensor_sharding.optimizer_state = 2;
  const Lowered lowered(small_gpt(), plan);
  EXPECT_FALSE(lowered.poisoned(lowered.run()));
  Program changed = lowered.program;
  ASSERT_TRUE(erase_node(changed.root, [](const Node& n) { return n.step.data == Data::new_weights; }));
  EXPECT_TRUE(lowered.poisoned(lowered.run(changed)));
}

// Copies stand where their stage needs them: each way over the one cut, forward ones before the second stage runs.
TEST(Poison, EverySerialCopyIsNeeded) {
  Plan plan = plain_plan(5, {}, 2, 1, 1, 2);
  plan.schedule = Schedule::sequential;
  const Lowered lowered(small_gpt(), plan);
  for (Data data : {Data::activations, Data::activation_gradients}) {
    Program changed = lowered.program;
    ASSERT_TRUE(
        erase_node(changed.root, [&](const Node& n) { return n.step.kind == StepKind::copy && n.step.data == data; }));
    EXPECT_TRUE(lowered.poisoned(lowered.run(changed))) << name_of(data);
  }
}

// The output layer is the token table: its gradients and its new values travel between the two IPUs that use it.
TEST(Poison, TiedWeightsAreSentBack) {
  const Lowered lowered(small_gpt(), plain_plan(5, {}, 2, 1, 1, 3));
  EXPECT_EQ(lowered.difference(lowered.run()), "");
  for (Data data : {Data::tied_gradients, Data::tied_weights}) {
    Program changed = lowered.program;
    ASSERT_TRUE(erase_node(changed.root, [&](const Node& n) { return n.step.data == data; }));
    EXPECT_NE(lowered.difference(lowered.run(changed)), "") << name_of(data);
    EXPECT_EQ(lowered.poisoned(lowered.run(changed)), data == Data::tied_weights);
  }
}

TEST(Poison, PhasesSeeNothingThatWasNotStored) {
  Plan plan = plain_plan(5, {}, 2, 1, 1, 2);
  cut_evenly(plan, 5, 4);
  plan.phases = {0, 2};
  plan.recompute = {Recompute::layer};
  plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
  const Lowered lowered(small_gpt(), plan);
  EXPECT_FALSE(lowered.poisoned(lowered.run()));
  for (Data data : {Data::activations, Data::activation_gradients}) {
    Program changed = lowered.program;
    ASSERT_TRUE(
        erase_node(changed.root, [&](const Node& n) { return n.step.kind == StepKind::store && n.step.data == data; }));
    EXPECT_TRUE(lowered.poisoned(lowered.run(changed))) << name_of(data);
  }
}

TEST(Poison, TiedGradientsWaitForTheirOwnersPhase) {
  for (PhaseOrder order : {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer}) {
    Plan plan = plain_plan(5, {}, 1, 1, 1, 2);
    cut_evenly(plan, 5, 3);
    plan.phases = {0, 1, 2};
    plan.phase_order = order;
    plan.recompute = {Recompute::layer};
    plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
    const Lowered lowered(small_gpt(), plan);
    EXPECT_EQ(lowered.difference(lowered.run()), "");
    for (StepKind kind : {StepKind::store, StepKind::load}) {
      Program changed = lowered.program;
      ASSERT_TRUE(erase_node(
          changed.root, [&](const Node& n) { return n.step.data == Data::tied_gradients && n.step.kind == kind; }));
      EXPECT_NE(lowered.difference(lowered.run(changed)), "");
    }
  }
}

// The norms of LAMB and LARS are over whole weights, of which a replica updates a slice.
TEST(Poison, NormsOfAShardedUpdateAreJoined) {
  for (const char* kind : {"lamb", "lars"}) {
    const OptimizerSpec spec{.kind = kind, .epsilon = 1e-3};
    Plan plan = plain_plan(5, {}, 1, 2);
    plan.replicated_tensor_sharding.optimizer_state = 2;
    const Lowered lowered(small_gpt(spec), plan, spec);
    EXPECT_EQ(lowered.difference(lowered.run()), "");
    Program changed = lowered.program;
    std::size_t joins = 0;
    for (Function& f : changed.functions)
      joins += std::erase_if(f.steps, [](const Step& s) { return s.data == Data::update_sums; });
    EXPECT_GT(joins, 0U);
    EXPECT_NE(lowered.difference(lowered.run(changed)), "") << kind;
  }
}

// The same where each IPU of a tensor-parallel pair has half of a weight.
TEST(Poison, NormsOfSplitWeightsAreJoined) {
  const OptimizerSpec spec{.kind = "lamb", .epsilon = 1e-3};
  const Lowered lowered(small_gpt(spec), plain_plan(5, {2, 1}), spec);
  Program changed = lowered.program;
  std::size_t joins = 0;
  for (Function& f : changed.functions) {
    if (f.pass != Pass::update) continue;
    joins += std::erase_if(f.steps, [](const Step& s) { return s.kind == StepKind::collective; });
  }
  EXPECT_GT(joins, 0U);
  EXPECT_NE(lowered.difference(lowered.run(changed)), "");
}

TEST(Poison, ReplicasThatDoNotMeetDisagreeWithTheReference) {
  const Lowered lowered(small_gpt(), plain_plan(5, {}, 1, 2));
  Program changed = lowered.program;
  ASSERT_TRUE(erase_node(changed.root, [](const Node& n) { return n.step.data == Data::gradients; }));
  EXPECT_NE(lowered.difference(lowered.run(changed)), "");
}

}  // namespace
}  // namespace superstep
