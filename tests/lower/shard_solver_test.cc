// SPDX-License-Identifier: Apache-2.0
// What a solver found of a block it takes again where it would find it again, and only there. Of too many states those
// go on that lead to the best splits.
#include "model/lower/shard_solver.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/lower/unit_table.h"
#include "model/machine/load_machine.h"
#include "model/zoo/zoo.h"

namespace superstep {
namespace {

struct Solved {
  double seconds = 0;
  GraphSharding sharding;
};

// Every block in each pass, equal ones too; of the backward pass those first that read what others make.
Solved solve(ShardSolver& solver, const std::map<TensorId, int>& forced, Bytes gather_limit, std::size_t beam = 1024) {
  solver.restart(forced, gather_limit);
  Solved out;
  for (Pass pass : kPasses) {
    for (const ShardFacts::Block& block : solver.problem().facts.blocks) {
      if (pass == Pass::update) solver.place_states(block);
      for (const ShardFacts::Piece& piece : block.pieces[static_cast<std::size_t>(pass)])
        out.seconds += solver.solve(piece.ops, pass == Pass::update ? 1 : beam);
    }
  }
  out.sharding = solver.result();
  return out;
}

void expect_same(const Solved& a, const Solved& b, const Graph& graph) {
  EXPECT_EQ(a.seconds, b.seconds);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    ASSERT_EQ(a.sharding.of(TensorId(t)), b.sharding.of(TensorId(t))) << graph.tensors[TensorId(t)].name;
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const OpSharding &x = a.sharding.of(OpId(i)), &y = b.sharding.of(OpId(i));
    ASSERT_EQ(x.axis, y.axis) << graph.ops[OpId(i)].name;
    ASSERT_EQ(x.in, y.in) << graph.ops[OpId(i)].name;
    ASSERT_EQ(x.out, y.out) << graph.ops[OpId(i)].name;
    ASSERT_EQ(x.conversions.size(), y.conversions.size()) << graph.ops[OpId(i)].name;
    for (std::size_t c = 0; c < x.conversions.size(); ++c) {
      EXPECT_EQ(x.conversions[c].kind, y.conversions[c].kind);
      EXPECT_EQ(x.conversions[c].operand, y.conversions[c].operand);
      EXPECT_EQ(x.conversions[c].bytes, y.conversions[c].bytes);
    }
  }
}

std::size_t gathers(const Graph& graph, const GraphSharding& sharding) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    n += gathers_weight(graph, graph.ops[OpId(i)], sharding.of(OpId(i))) ? 1 : 0;
  return n;
}

struct SolverCase {
  TransformerSpec spec;
  TensorParallel mesh;
  std::int64_t micro_batch = 1;
  bool split_activations = false;
};
void PrintTo(const SolverCase& c, std::ostream* out) {
  *out << c.spec.name << ' ' << c.mesh.t1 << 'x' << c.mesh.t2 << " m=" << c.micro_batch;
}

class Solver : public testing::TestWithParam<SolverCase> {};

TEST_P(Solver, AfterOtherLimitsAndWeightsFindsWhatAFreshOneFinds) {
  TransformerSpec spec = GetParam().spec;
  spec.layers = 2;
  Graph graph = build(spec, GetParam().micro_batch, DType::fp16);
  add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam"});
  const CostModel cost(load_machine(nlohmann::json("ipu-pod64"), "test"), load_calibration());
  const CollectiveTime collective = collective_time(cost, GetParam().mesh);
  const WorkTime work = work_time(graph, cost.machine().chip);
  ShardRules rules;
  rules.split_activations = GetParam().split_activations;
  const ShardFacts facts(graph);
  const ShardProblem problem(graph, facts, GetParam().mesh, collective, work, rules);

  std::vector<std::map<TensorId, int>> forced = {{}};
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& table = graph.tensors[TensorId(t)];
    if (table.kind != TensorKind::weight || table.info.shape != Shape{spec.vocabulary, spec.hidden}) continue;
    forced.push_back({{TensorId(t), 0}});
    forced.push_back({{TensorId(t), 1}});
  }
  ASSERT_EQ(forced.size(), 3U);  // the tied table of words, and either way to split it
  const Bytes any(std::numeric_limits<std::int64_t>::max()), half(1 << 20), none(0);
  ShardSolver again(problem);
  std::size_t most_allowed = 0, most_forbidden = 0;
  for (const Bytes limit : {any, none, half, any, none}) {
    for (const std::map<TensorId, int>& weights : forced) {
      ShardSolver fresh(problem);
      const Solved found = solve(again, weights, limit);
      expect_same(found, solve(fresh, weights, limit), graph);
      std::size_t& most = limit == none ? most_forbidden : most_allowed;
      most = std::max(most, gathers(graph, found.sharding));
    }
  }
  EXPECT_GT(most_allowed, most_forbidden);  // else no limit would matter
}

// A narrow model on long samples gathers its weights.
TransformerSpec narrow() {
  TransformerSpec spec = transformer_spec("gpt2-small");
  spec.hidden = 256, spec.ffn = 1024, spec.heads = 4;
  return spec;
}

INSTANTIATE_TEST_SUITE_P(Transformers, Solver,
                         testing::Values(SolverCase{transformer_spec("gpt2-small"), {4, 1}},
                                         SolverCase{transformer_spec("gpt2-small"), {2, 2}},
                                         SolverCase{transformer_spec("bert-large"), {2, 1}, 2},
                                         SolverCase{narrow(), {4, 1}, 16, true}));

// The steps of a recurrent layer wait for the op that joins them: with each the states double.
TEST(ShardSolver, FindsInFewStatesWhatAllOfThemHold) {
  for (const std::int64_t steps : {2, 6, 10}) {
    for (const TensorParallel mesh : {TensorParallel{2, 1}, TensorParallel{4, 1}}) {
      for (const std::int64_t micro_batch : {1, 32}) {
        LstmSpec spec = lstm_spec("lstm");
        spec.steps = steps;
        Graph graph = build(spec, micro_batch, DType::fp16);
        add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam"});
        const CostModel cost(load_machine(nlohmann::json("ipu-pod4"), "test"), load_calibration());
        const CollectiveTime collective = collective_time(cost, mesh);
        const WorkTime work = work_time(graph, cost.machine().chip);
        const ShardFacts facts(graph);
        const ShardProblem problem(graph, facts, mesh, collective, work, {});
        ShardSolver all(problem), few(problem);
        const Bytes any(std::numeric_limits<std::int64_t>::max());
        const double least = solve(all, {}, any, 1 << 20).seconds;
        EXPECT_NEAR(solve(few, {}, any, 16).seconds, least, 1e-9 * least)
            << steps << " " << mesh.t1 << " " << micro_batch;
      }
    }
  }
}

}  // namespace
}  // namespace superstep
