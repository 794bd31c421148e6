// SPDX-License-Identifier: Apache-2.0
// Small graphs of one kind of op each, spread in every direction.
#include <gtest/gtest.h>

#include "model/graph/builder.h"
#include "model/graph/samples.h"
#include "setup.h"

namespace superstep {
namespace {

constexpr std::int64_t kSequence = 4, kHidden = 16;

// A part between two products, so that there is something to split and to differentiate.
using Part = std::function<TensorId(GraphBuilder&, TensorId)>;

OptimizerSpec adam() {
  OptimizerSpec spec;
  spec.kind = "adam";
  spec.epsilon = 1e-3;
  return spec;
}

MakeGraph around(const Part& part) {
  return [part](std::int64_t samples) {
    Graph graph;
    graph.name = "part";
    graph.micro_batch = samples;
    GraphBuilder b(graph);
    b.begin_unit("first");
    const TensorId x = b.input("x", DType::fp32, {samples, kSequence, kHidden});
    const TensorId up = b.matmul(x, b.weight("up", DType::fp32, {kHidden, 24}));
    b.begin_unit("part");
    const TensorId y = part(b, up);
    b.begin_unit("last");
    const TensorId down = b.matmul(y, b.weight("down", DType::fp32, {b.info(y).shape.back(), 8}));
    graph.loss = b.reduce("mean", b.unary("square", down), {0, 1, 2}, false);
    graph.outputs = {graph.loss};
    count_samples_in_loss(graph);
    add_optimizer(graph, add_gradients(graph), adam());
    return graph;
  };
}

MakeGraph lookup() {
  return [](std::int64_t samples) {
    Graph graph;
    graph.name = "lookup";
    graph.micro_batch = samples;
    GraphBuilder b(graph);
    b.begin_unit("table");
    const TensorId words = b.input("words", DType::int32, {samples, kSequence});
    const TensorId x = b.gather(b.weight("table", DType::fp32, {24, kHidden}), words);
    b.begin_unit("middle");
    const TensorId y = b.unary("gelu", b.matmul(x, b.weight("middle", DType::fp32, {kHidden, kHidden})));
    b.begin_unit("head");
    const TensorId labels = b.input("labels", DType::int32, {samples, kSequence});
    graph.loss = b.cross_entropy(b.matmul(y, b.weight("head", DType::fp32, {kHidden, 24})), labels);
    graph.outputs = {graph.loss};
    count_samples_in_loss(graph);
    add_optimizer(graph, add_gradients(graph), adam());
    return graph;
  };
}

void expect_equal_everywhere(const MakeGraph& make) {
  for (TensorParallel t : {TensorParallel{1, 1}, TensorParallel{2, 1}, TensorParallel{4, 1}, TensorParallel{2, 2}}) {
    for (std::int64_t p : {1, 2, 3}) {
      for (std::int64_t r : {1, 2}) {
        for (Recompute recompute : {Recompute::none, Recompute::stage}) {
          Plan plan = plain_plan(3, t, p, r, 1, 5);
          plan.recompute = {recompute};
          if (plan.ipus() > 8) continue;
          SCOPED_TRACE(label(plan));
          const Lowered lowered(make, plan, adam());
          EXPECT_EQ(lowered.difference(lowered.run()), "");
          EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "");
          EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "");
        }
      }
    }
  }
}

TEST(ExecuteParts, Matmul) {
  expect_equal_everywhere(around([](GraphBuilder& b, TensorId x) {
    return b.matmul(x, b.weight("w", DType::fp32, {40, 24}), false, true);
  }));
}

TEST(ExecuteParts, BatchedMatmul) {
  expect_equal_everywhere(around([](GraphBuilder& b, TensorId x) { return b.matmul(x, b.matmul(x, x, true, false)); }));
}

TEST(ExecuteParts, Softmax) {
  expect_equal_everywhere(around([](GraphBuilder& b, TensorId x) { return b.softmax(x); }));
}

TEST(ExecuteParts, LayerNorm) {
  expect_equal_everywhere(around([](GraphBuilder& b, TensorId x) {
    return b.layer_norm(x, b.weight("gamma", DType::fp32, {24}), b.weight("beta", DType::fp32, {24}), 1e-5);
  }));
}

TEST(ExecuteParts, Dropout) {
  expect_equal_everywhere(around([](GraphBuilder& b, TensorId x) { return b.dropout(b.unary("gelu", x), 0.3); }));
}

TEST(ExecuteParts, EmbeddingAndCrossEntropy) { expect_equal_everywhere(lookup()); }

TEST(ExecuteParts, Inference) {
  const MakeGraph make = [](std::int64_t samples) {
    Graph forward;
    forward.micro_batch = samples;
    GraphBuilder b(forward);
    b.begin_unit("first");
    const TensorId x = b.input("x", DType::fp32, {samples, kSequence, kHidden});
    const TensorId up = b.softmax(b.matmul(x, b.weight("up", DType::fp32, {kHidden, 24})));
    b.begin_unit("last");
    forward.outputs = {b.matmul(up, b.weight("down", DType::fp32, {24, 8}))};
    return forward;
  };
  for (std::int64_t p : {1, 2}) {
    for (std::int64_t r : {1, 2}) {
      Plan plan = plain_plan(2, {2, 1}, p, r, 2, 3);
      SCOPED_TRACE(label(plan));
      const Lowered lowered(make, plan);
      EXPECT_EQ(lowered.difference(lowered.run()), "");
      EXPECT_EQ(lowered.unequal_bits(lowered.run(Arithmetic::exact)), "");
    }
  }
}

}  // namespace
}  // namespace superstep
