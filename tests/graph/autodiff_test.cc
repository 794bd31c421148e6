// SPDX-License-Identifier: Apache-2.0
#include "model/graph/autodiff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/graph/recurrent.h"
#include "model/zoo/zoo.h"
#include "numbers.h"

namespace superstep {
namespace {

// Every weight's gradient against central differences at a few elements.
void expect_gradients(const Graph& graph, const std::map<TensorId, TensorId>& gradients, const Values& feeds,
                      double tolerance) {
  const KernelContext context{.seed = 3, .step = 1};
  const Values all = evaluate(graph, feeds, context);
  Graph forward = graph;  // without the backward ops, for speed
  while (forward.ops.back().pass != Pass::forward) {
    IdVector<OpId, Op> ops;
    for (const Op& op : forward.ops) {
      if (op.pass == Pass::forward) ops.push_back(op);
    }
    forward.ops = std::move(ops);
  }
  constexpr double kStep = 1e-5;
  for (const auto& [weight, gradient] : gradients) {
    EXPECT_EQ(graph.info(weight), graph.info(gradient));
    const std::int64_t n = graph.info(weight).elements();
    for (std::int64_t i : {std::int64_t{0}, n / 3, n - 1}) {
      Values moved = feeds;
      const double x = moved[weight].at(i);
      moved[weight].set(i, x + kStep);
      const double above = evaluate(forward, moved, context).at(graph.loss).at(0);
      moved[weight].set(i, x - kStep);
      const double expected = (above - evaluate(forward, moved, context).at(graph.loss).at(0)) / (2 * kStep);
      EXPECT_NEAR(all.at(gradient).at(i), expected, tolerance) << graph.tensors[weight].name << " element " << i;
    }
  }
}

class ZooGradients : public testing::TestWithParam<std::string> {};

TEST_P(ZooGradients, EqualFiniteDifferences) {
  TransformerSpec spec = tiny(GetParam() == "packed" ? "bert-base" : GetParam());
  spec.packed = GetParam() == "packed";
  Graph graph = build(spec, 2, DType::fp64);
  const auto gradients = add_gradients(graph);
  check(graph);
  std::size_t weights = 0;
  for (const Tensor& t : graph.tensors) weights += t.kind == TensorKind::weight;
  EXPECT_EQ(gradients.size(), weights);
  expect_gradients(graph, gradients, random_feeds(graph, 5, 2), 2e-7);
}

INSTANTIATE_TEST_SUITE_P(Models, ZooGradients, testing::Values("bert-base", "packed", "gpt2-small"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Gradients, OfConvolutionBatchNormAndPoolingEqualFiniteDifferences) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp64, {3, 2, 7, 7});
  const TensorId w = b.weight("w", DType::fp64, {4, 2, 3, 3});
  Attributes conv;
  conv.set("strides", std::vector<std::int64_t>{2, 2});
  conv.set("pads_begin", std::vector<std::int64_t>{1, 1});
  conv.set("pads_end", std::vector<std::int64_t>{1, 1});
  TensorId y = b.batch_norm(b.one("conv", {x, w}, conv), b.weight("gamma", DType::fp64, {4}),
                            b.weight("beta", DType::fp64, {4}), 1e-5);
  Attributes pool;
  pool.set("window", std::vector<std::int64_t>{2, 2});
  y = b.one("max_pool", {b.unary("relu", y)}, pool);
  y = b.reduce("mean", y, {2, 3}, false);
  const TensorId logits = b.linear(y, b.weight("fc", DType::fp64, {4, 5}), b.weight("bias", DType::fp64, {5}));
  graph.loss = b.cross_entropy(logits, b.input("labels", DType::int32, {3}));
  expect_gradients(graph, add_gradients(graph), random_feeds(graph, 6, 5), 1e-6);
}

TEST(Gradients, OfAnLstmEqualFiniteDifferences) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp64, {4, 2, 3});
  const LstmWeights w{b.weight("w", DType::fp64, {20, 3}), b.weight("r", DType::fp64, {20, 5}),
                      b.weight("b", DType::fp64, {20})};
  graph.loss = b.reduce("mean_square", lstm(b, x, w, {}, {}, false).all, {0, 1, 2}, false);
  expect_gradients(graph, add_gradients(graph), random_feeds(graph, 7, 1), 1e-7);
}

// Ops of a gradient belong to the turn of the op that it is of; those before and behind the loop to none.
TEST(Gradients, OfOpsInALoopBelongToTheirTurns) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId w = b.weight("w", DType::fp32, {2});
  TensorId x = b.unary("tanh", b.weight("before", DType::fp32, {2}));
  {
    GraphBuilder::Loop loop(b);
    for (int i = 0; i < 3; ++i) {
      loop.next();
      x = b.binary("mul", x, w);
    }
  }
  graph.loss = b.reduce("sum", x, {0}, false);
  const TensorId gradient = add_gradients(graph).at(w);
  std::map<Turn, int> counts;
  for (const Op& op : graph.ops) counts[op.turn] += op.pass == Pass::backward ? 1 : 0;
  for (std::int32_t turn : {0, 1, 2}) EXPECT_GT((counts[{0, turn}]), 0) << turn;
  EXPECT_GT(counts[{}], 0);
  EXPECT_EQ(graph.tensors[gradient].kind, TensorKind::weight_gradient);
}

TEST(Gradients, OfATensorUsedTwiceAddUp) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId w = b.weight("w", DType::fp32, {2});
  graph.loss = b.reduce("sum", b.binary("mul", w, w), {0}, false);
  const auto gradients = add_gradients(graph);
  const Values all = evaluate(graph, {{w, Array::from(DType::fp32, {2}, {3, -5})}}, {});
  EXPECT_EQ(all.at(gradients.at(w)).values(), (std::vector<double>{6, -10}));
  EXPECT_EQ(graph.tensors[gradients.at(w)].kind, TensorKind::weight_gradient);
  EXPECT_EQ(graph.tensors[gradients.at(w)].weight, w);
}

TEST(Gradients, EveryWeightHasATensorOfItsOwn) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId v = b.weight("v", DType::fp32, {2}), w = b.weight("w", DType::fp32, {2});
  graph.loss = b.reduce("sum", b.binary("add", v, w), {0}, false);
  const auto gradients = add_gradients(graph);
  EXPECT_NE(gradients.at(v), gradients.at(w));
  const Values feeds = random_feeds(graph, 1, 1);
  const Values all = evaluate(graph, feeds, {});
  EXPECT_EQ(all.at(gradients.at(v)).values(), (std::vector<double>{1, 1}));
  EXPECT_EQ(all.at(gradients.at(w)).values(), (std::vector<double>{1, 1}));
  check(graph);
}

TEST(Gradients, AreNotMadeForConstantsInputsAndWhatNobodyAsksFor) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {4, 3}), w = b.weight("w", DType::fp32, {3, 2});
  graph.loss = b.reduce("mean_square", b.matmul(x, w), {0, 1}, false);
  const std::size_t before = graph.ops.size();
  add_gradients(graph);
  std::size_t products = 0;
  for (std::size_t i = before; i < graph.ops.size(); ++i) products += graph.ops[OpId(i)].def->name == "matmul";
  EXPECT_EQ(products, 1u);
}

TEST(Gradients, OfSoftmaxReadOnlyItsResult) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId w = b.weight("w", DType::fp32, {4, 6});
  const TensorId y = b.softmax(w);
  graph.loss = b.reduce("mean_square", y, {0, 1}, false);
  const std::size_t before = graph.ops.size();
  add_gradients(graph);
  for (std::size_t i = before; i < graph.ops.size(); ++i) {
    for (TensorId t : graph.ops[OpId(i)].inputs) {
      const OpId producer = graph.tensors[t].producer;
      const bool from_forward = producer.valid() && graph.ops[producer].pass == Pass::forward;
      EXPECT_TRUE(!from_forward || t == y) << graph.tensors[t].name;
    }
  }
}

TEST(Gradients, BelongToTheUnitOfTheirForwardOp) {
  Graph graph = build(tiny("gpt2-small"), 1, DType::fp16);
  add_gradients(graph);
  for (const Unit& unit : graph.units) {
    EXPECT_FALSE(unit.ops[static_cast<int>(Pass::backward)].empty()) << unit.name;
    for (OpId op : unit.ops[1])
      EXPECT_EQ(graph.ops[op].name.rfind(unit.name.substr(0, 4), 0), 0u) << graph.ops[op].name;
  }
}

// The largest logit is only subtracted to keep exponentials small; its gradient is stopped.
TEST(Gradients, AreNotMadeWhereTheyAreStopped) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId logits = b.matmul(b.input("x", DType::fp32, {3, 4}), b.weight("w", DType::fp32, {4, 5}));
  graph.loss = b.cross_entropy(logits, b.input("labels", DType::int32, {3}));
  add_gradients(graph);
  std::vector<bool> read(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (t.valid()) read[static_cast<std::size_t>(t.index)] = true;
    }
  }
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::backward) continue;
    for (TensorId t : op.outputs)
      EXPECT_TRUE(read[static_cast<std::size_t>(t.index)] || graph.tensors[t].kind == TensorKind::weight_gradient)
          << op.name;
  }
}

TEST(Gradients, NameAnOpThatHasNone) {
  Graph graph;
  GraphBuilder b(graph);
  const GraphBuilder::Scope scope(b, "head");
  graph.loss = b.reduce("sum", b.one("determinant", {b.weight("w", DType::fp32, {2, 2, 2})}), {0}, false);
  try {
    add_gradients(graph);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("op determinant has no gradient"));
    EXPECT_THAT(error.where, testing::StartsWith("head/determinant"));
  }
}

TEST(Gradients, WantAScalarLoss) {
  Graph graph;
  graph.name = "net";
  EXPECT_THROW(add_gradients(graph), Error);
  GraphBuilder b(graph);
  graph.loss = b.unary("exp", b.weight("w", DType::fp32, {2}));
  EXPECT_THROW(add_gradients(graph), Error);
}

}  // namespace
}  // namespace superstep
