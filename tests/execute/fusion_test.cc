// SPDX-License-Identifier: Apache-2.0
// Ops that are fused give the bits of op by op.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "model/execute/evaluate.h"
#include "model/execute/fusion.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/numerics/team.h"
#include "model/zoo/zoo.h"

namespace superstep {
namespace {

Values normal_feeds(const Graph& graph) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0.1, 0.6);
  Values feeds;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.data || (tensor.kind != TensorKind::weight && tensor.kind != TensorKind::input)) continue;
    Array values(tensor.info);
    for (std::int64_t e = 0; e < values.info.elements(); ++e)
      values.set(e, is_float(tensor.info.type) ? normal(random) : static_cast<double>(random() % 16));
    feeds[TensorId(i)] = std::move(values);
  }
  return feeds;
}

struct Fused {
  std::size_t fusions = 0, ops = 0, sums = 0;
};
Fused fused_of(const Graph& graph) {
  std::vector<OpId> all;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) all.push_back(OpId(i));
  Fused fused;
  std::set<OpId> seen;
  for (const Fusion& fusion : fuse(graph, all)) {
    fused.fusions += fusion.size() > 1;
    for (const FusedOp& op : fusion) {
      EXPECT_TRUE(seen.insert(op.op).second);
      fused.ops += fusion.size() > 1;
      fused.sums += fusion.size() > 1 && graph.ops[op.op].def->summation == Summation::exact;
    }
  }
  EXPECT_EQ(seen.size(), all.size());
  return fused;
}

void expect_same_bits(const Graph& graph, KernelContext context) {
  const Values feeds = normal_feeds(graph);
  const Values expected = evaluate(graph, feeds, context);
  std::vector<TensorId> wanted = outcomes(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); i += 7)  // some of those that would pass within a fusion
    if (expected.contains(TensorId(i))) wanted.push_back(TensorId(i));
  for (int threads : {1, 3}) {
    numerics::Team team(threads, 0);
    context.team = &team;
    for (const std::vector<TensorId>& some : {outcomes(graph), wanted})
      for (const auto& [t, values] : evaluate(graph, feeds, context, some))
        EXPECT_TRUE(values == expected.at(t)) << graph.tensors[t].name << ", " << threads << " threads";
  }
}

Graph residual_network(DType type) {
  Graph graph;
  GraphBuilder b(graph);
  TensorId x = b.input("x", type, {3, 4, 40, 41});
  const auto conv = [&](const std::string& name, TensorId from, std::int64_t stride) {
    Attributes attrs;
    attrs.set("strides", std::vector<std::int64_t>{stride, stride});
    attrs.set("pads_begin", std::vector<std::int64_t>{1, 1});
    attrs.set("pads_end", std::vector<std::int64_t>{1, 1});
    const TensorId y = b.one("conv", {from, b.weight(name, type, {10, b.info(from).shape[1], 3, 3})}, attrs);
    return b.batch_norm(y, b.weight(name + "_gamma", type, {10}), b.weight(name + "_beta", type, {10}), 1e-5);
  };
  x = b.unary("relu", conv("one", x, 1));
  x = b.unary("relu", b.binary("add", conv("two", x, 1), b.dropout(x, 0.25)));
  x = b.unary("gelu", conv("three", x, 2));
  graph.outputs = {x};
  graph.loss = b.reduce("mean_square", x, {0, 1, 2, 3}, false);
  add_gradients(graph);
  return graph;
}

TEST(Fusion, OfNormalisationsWithTheirStatisticsAndGradients) {
  const Graph graph = residual_network(DType::fp32);
  const Fused fused = fused_of(graph);
  EXPECT_GE(fused.fusions, 4u);
  EXPECT_GE(fused.ops, 40u);
  EXPECT_GE(fused.sums, 10u);
  expect_same_bits(graph, {.seed = 5, .first_sample = 2});
}

TEST(Fusion, LeavesHalfsAndStochasticRounding) {
  expect_same_bits(residual_network(DType::fp16), {.seed = 5, .rounding = Rounding::stochastic});
}

TEST(Fusion, OfATransformer) {
  for (DType type : {DType::fp32, DType::fp16}) {
    TransformerSpec spec;
    spec.name = "small", spec.family = "gpt";
    spec.layers = 2, spec.hidden = 128, spec.heads = 4, spec.ffn = 512, spec.vocabulary = 64;
    spec.sequence_length = spec.positions = 128;
    spec.dropout = 0.1, spec.attention_dropout = 0.1;
    Graph graph = build(spec, 3, type);
    add_gradients(graph);
    EXPECT_GE(fused_of(graph).fusions, 6u);
    expect_same_bits(graph, {.seed = 9});
  }
}

// Slices and joins along the first axis: the second is cut, which the transposition moves; first of all the first one
// where maxima have no other.
TEST(Fusion, FollowsAnAxisWhileThereIsOne) {
  for (bool by_first : {false, true}) {
    Graph graph;
    GraphBuilder b(graph);
    TensorId x = b.unary("relu", b.input("x", DType::fp32, {64, 48, 40}));
    if (by_first) x = b.binary("sub", x, b.reduce("max", x, {1, 2}, true));
    const TensorId part = b.binary("add", b.slice(x, 0, 0, 32), b.slice(x, 0, 32, 64));
    const TensorId both = b.unary("exp", b.concat({part, b.slice(x, 0, 5, 25)}, 0));
    const TensorId turned = b.transpose(b.binary("mul", both, b.reduce("max", x, {0}, true)), {1, 0, 2});
    const TensorId whole = b.reduce("mean", b.unary("tanh", turned), {1}, true);
    graph.outputs = {b.binary("sub", turned, whole), part};
    EXPECT_GE(fused_of(graph).fusions, by_first ? 2u : 1u);
    expect_same_bits(graph, {});
  }
}

}  // namespace
}  // namespace superstep
