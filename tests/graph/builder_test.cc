// SPDX-License-Identifier: Apache-2.0
#include "model/graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/graph/recurrent.h"
#include "numbers.h"

namespace superstep {
namespace {

using testing::HasSubstr;

// Values of one tensor, evaluated from random feeds.
std::vector<double> values_of(const Graph& graph, TensorId t, const Values& feeds) {
  return evaluate(graph, feeds, {}).at(t).values();
}

TEST(Builder, ComputesOpsOfConstantsAtOnce) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId sum = b.binary("add", b.constant(Array::from(DType::int64, {2}, {3, 4})), b.scalar(DType::int64, 1));
  EXPECT_EQ(graph.tensors[sum].kind, TensorKind::constant);
  EXPECT_EQ(graph.tensors[sum].data->values(), (std::vector<double>{4, 5}));
  EXPECT_TRUE(graph.ops.empty());
}

TEST(Builder, FoldsReshapeChainsAndDropsOpsThatDoNothing) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {2, 6});
  const TensorId y = b.reshape(b.reshape(x, {3, 4}), {-1, 2});
  EXPECT_EQ(graph.info(y).shape, (Shape{6, 2}));
  EXPECT_EQ(graph.ops[graph.tensors[y].producer].inputs.front(), x);
  EXPECT_EQ(b.reshape(x, {2, 6}), x);
  EXPECT_EQ(b.transpose(x, {0, 1}), x);
  EXPECT_EQ(b.cast(x, DType::fp32), x);
  EXPECT_EQ(b.scale(x, 1), x);
  EXPECT_EQ(b.slice(x, 1, 0, 6), x);
  EXPECT_EQ(b.dropout(x, 0), x);
  EXPECT_EQ(b.sum_to(x, {2, 6}), x);
}

TEST(Builder, NamesByScopeAndKeepsNamesApart) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {4});
  const GraphBuilder::Scope outer(b, "layer0");
  const GraphBuilder::Scope inner(b, "norm");
  const TensorId p = b.unary("exp", x), q = b.unary("exp", x);
  EXPECT_THAT(graph.tensors[p].name, testing::StartsWith("layer0/norm/exp"));
  EXPECT_NE(graph.tensors[p].name, graph.tensors[q].name);
  EXPECT_EQ(graph.tensors[b.matmul(b.reshape(x, {1, 4}), b.reshape(x, {4, 1}), false, false, "dot")].name,
            "layer0/norm/dot");
}

TEST(Builder, NamesTheOpWhoseOperandsDoNotMatch) {
  Graph graph;
  GraphBuilder b(graph);
  const GraphBuilder::Scope scope(b, "head");
  const TensorId x = b.input("x", DType::fp32, {4, 3}), y = b.input("y", DType::fp32, {4, 3});
  try {
    b.matmul(x, y, false, false, "logits");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "head/logits: matmul of [4, 3] and [4, 3]: contracted extents differ");
  }
  EXPECT_THROW(b.binary("add", x, b.input("z", DType::fp32, {4})), Error);
  EXPECT_THROW(b.reshape(x, {5, 5}), Error);
  EXPECT_THROW(b.one("no_such_op", {x}), InternalError);
}

TEST(Builder, OpsBelongToTheTurnsOfTheOutermostLoop) {
  Graph graph;
  GraphBuilder b(graph);
  TensorId x = b.input("x", DType::fp32, {2});
  const auto turn_of_next = [&] {
    x = b.unary("tanh", x);
    return graph.ops[graph.tensors[x].producer].turn;
  };
  EXPECT_EQ(turn_of_next(), Turn{});
  for (std::int32_t loop : {0, 1}) {
    GraphBuilder::Loop outer(b);
    for (std::int32_t number : {0, 1}) {
      outer.next();
      EXPECT_EQ(turn_of_next(), (Turn{loop, number}));
      GraphBuilder::Loop inner(b);
      inner.next();
      inner.next();
      EXPECT_EQ(turn_of_next(), (Turn{loop, number}));
    }
  }
  EXPECT_EQ(turn_of_next(), Turn{});
}

// The same ops written out, which is code for each of them, and in a loop, which is code for one turn.
TEST(Signature, TellsALoopFromTheSameOpsWrittenOut) {
  const auto of = [](bool in_loop) {
    Graph graph;
    GraphBuilder b(graph);
    TensorId x = b.input("x", DType::fp32, {2});
    std::optional<GraphBuilder::Loop> loop;
    if (in_loop) loop.emplace(b);
    for (int i = 0; i < 3; ++i) {
      if (in_loop) loop->next();
      x = b.unary("tanh", x);
    }
    return signature(graph, UnitId(0));
  };
  EXPECT_EQ(of(true), of(true));
  EXPECT_NE(of(true), of(false));
}

TEST(Compound, SoftmaxIsFiveOpsAndSumsToOne) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {3, 5, 7});
  const TensorId y = b.softmax(x, 1);
  const std::vector<double> sums = values_of(graph, b.reduce("sum", y, {1}, false), random_feeds(graph, 1, 1));
  for (double sum : sums) EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(graph.ops.size(), 6u + 1u);  // max, sub, exp, sum, reciprocal, mul; and the sum above
}

TEST(Compound, LayerNormHasMeanZeroAndVarianceOneInHalfPrecisionToo) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp16, {4, 64});
  const TensorId y = b.layer_norm(x, {}, {}, 1e-5);
  const TensorId mean = b.reduce("mean", y, {1}, false, DType::fp32);
  const TensorId square = b.reduce("mean_square", y, {1}, false, DType::fp32);
  const Values feeds = random_feeds(graph, 1, 1);
  for (double v : values_of(graph, mean, feeds)) EXPECT_NEAR(v, 0, 2e-3);
  for (double v : values_of(graph, square, feeds)) EXPECT_NEAR(v, 1, 4e-3);
}

TEST(Compound, CrossEntropyIgnoresLabelsAndAveragesOverTheRest) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId logits = b.input("logits", DType::fp32, {3, 4}), labels = b.input("labels", DType::int32, {3});
  const TensorId loss = b.cross_entropy(logits, labels, -100);
  Values feeds;
  feeds[logits] = Array::from(DType::fp32, {3, 4}, {1, 2, 3, 4, 0, 0, 0, 0, 9, 9, 9, 9});
  feeds[labels] = Array::from(DType::int32, {3}, {3, 0, -100});
  // Row 0: log(e^-3 + e^-2 + e^-1 + 1) = 0.44018970; row 1: log 4 = 1.38629436; row 2 does not count.
  EXPECT_NEAR(values_of(graph, loss, feeds)[0], (0.44018970 + 1.38629436) / 2, 1e-6);
  feeds[labels] = Array::from(DType::int32, {3}, {-100, -100, -100});
  EXPECT_EQ(values_of(graph, loss, feeds)[0], 0);  // not 0 / 0
}

TEST(Compound, DropoutOfMicroBatchesIsThatOfTheWholeBatch) {
  const auto build = [](Graph& graph, std::int64_t samples) {
    graph.micro_batch = samples;
    GraphBuilder b(graph);
    const TensorId x = b.input("x", DType::fp32, {samples, 50});
    return b.dropout(x, 0.3);
  };
  Graph whole, half;
  const TensorId y = build(whole, 4), part = build(half, 2);
  Array ones4(TensorInfo{DType::fp32, {4, 50}}), ones2(TensorInfo{DType::fp32, {2, 50}});
  for (int i = 0; i < 200; ++i) ones4.set(i, 1);
  for (int i = 0; i < 100; ++i) ones2.set(i, 1);
  const KernelContext context{.seed = 7, .step = 2};
  const auto all = evaluate(whole, {{whole.inputs[0], ones4}}, context).at(y).values();
  for (std::int64_t first : {0, 2}) {
    const KernelContext later{.seed = 7, .step = 2, .first_sample = first};
    const auto some = evaluate(half, {{half.inputs[0], ones2}}, later).at(part).values();
    for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], all[static_cast<std::size_t>(first) * 50 + i]);
  }
  const auto other_step = evaluate(whole, {{whole.inputs[0], ones4}}, {.seed = 7, .step = 3}).at(y).values();
  EXPECT_NE(all, other_step);
}

TEST(Compound, DropoutKeepsTheGivenShareAndTheMean) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId y = b.dropout(b.input("x", DType::fp32, {1, 100000}), 0.3);
  Array ones(TensorInfo{DType::fp32, {1, 100000}});
  for (int i = 0; i < 100000; ++i) ones.set(i, 1);
  double dropped = 0, sum = 0;
  for (double v : evaluate(graph, {{graph.inputs[0], ones}}, {.seed = 1}).at(y).values()) {
    dropped += v == 0;
    sum += v;
  }
  EXPECT_NEAR(dropped / 1e5, 0.3, 0.006);  // four standard deviations
  EXPECT_NEAR(sum / 1e5, 1, 0.009);
}

TEST(Recurrent, LstmFollowsItsEquationsInBothDirections) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp64, {2, 1, 1});
  const LstmWeights w{b.weight("w", DType::fp64, {4, 1}), b.weight("r", DType::fp64, {4, 1}),
                      b.weight("b", DType::fp64, {4})};
  const LstmResult forward = lstm(b, x, w, {}, {}, false), backward = lstm(b, x, w, {}, {}, true);
  Values feeds;
  const double xs[] = {0.5, -1.0}, wi[] = {0.3, -0.2, 0.8, 0.5}, ri[] = {0.1, 0.7, -0.4, 0.9},
               bi[] = {0.05, 0.1, 0.2, -0.3};
  feeds[x] = Array::from(DType::fp64, {2, 1, 1}, {xs[0], xs[1]});
  feeds[w.input] = Array::from(DType::fp64, {4, 1}, {wi[0], wi[1], wi[2], wi[3]});
  feeds[w.recurrent] = Array::from(DType::fp64, {4, 1}, {ri[0], ri[1], ri[2], ri[3]});
  feeds[w.bias] = Array::from(DType::fp64, {4}, {bi[0], bi[1], bi[2], bi[3]});
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (const bool reverse : {false, true}) {
    double h = 0, c = 0, seen[2] = {};
    for (const int t : reverse ? std::vector<int>{1, 0} : std::vector<int>{0, 1}) {
      const auto sum = [&](int gate) { return wi[gate] * xs[t] + ri[gate] * h + bi[gate]; };
      c = sigmoid(sum(2)) * c + sigmoid(sum(0)) * std::tanh(sum(3));
      h = sigmoid(sum(1)) * std::tanh(c);
      seen[t] = h;
    }
    const LstmResult& result = reverse ? backward : forward;
    const Values all = evaluate(graph, feeds, {});
    EXPECT_NEAR(all.at(result.all).at(0), seen[0], 1e-12);
    EXPECT_NEAR(all.at(result.all).at(1), seen[1], 1e-12);
    EXPECT_NEAR(all.at(result.last).at(0), h, 1e-12);
    EXPECT_NEAR(all.at(result.cell).at(0), c, 1e-12);
  }
}

TEST(Evaluate, ReturnsWhatIsWantedAndNothingElse) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp64, {2}), unfed = b.input("unfed", DType::fp64, {2});
  const TensorId square = b.unary("square", x), sum = b.binary("add", square, x);
  b.binary("add", unfed, x);  // nothing wanted comes from it
  const Values feeds{{x, Array::from(DType::fp64, {2}, {2, 3})}};
  const TensorId wanted[] = {sum, x};
  const Values found = evaluate(graph, feeds, {}, wanted);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(sum).values(), (std::vector<double>{6, 12}));
  EXPECT_EQ(found.at(x), feeds.at(x));
}

TEST(Evaluate, NamesATensorWithoutValues) {
  Graph graph;
  GraphBuilder b(graph);
  b.unary("exp", b.input("tokens", DType::fp32, {2}));
  try {
    evaluate(graph, {}, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"tokens\""));
  }
}

TEST(Check, SeesABrokenGraph) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {2});
  b.unary("exp", b.unary("exp", x));
  check(graph);
  Graph swapped = graph;
  std::swap(swapped.ops[OpId(0)], swapped.ops[OpId(1)]);
  EXPECT_THROW(check(swapped), InternalError);
  Graph lost = graph;
  lost.units[UnitId(0)].ops[0].pop_back();
  EXPECT_THROW(check(lost), InternalError);
  const TensorId sum = b.reduce("sum", x, {0}, false);
  Graph update = graph;
  update.updates.emplace_back(x, sum);
  EXPECT_THROW(check(update), InternalError);
}

}  // namespace
}  // namespace superstep
