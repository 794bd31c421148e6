// SPDX-License-Identifier: Apache-2.0
// Batch norm under plans: statistics of a group are those of the plain model, wherever its samples are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/machine/load_machine.h"
#include "setup.h"

namespace superstep {
namespace {

constexpr std::int64_t kNetworkUnits = 3;

TensorId convolved(GraphBuilder& b, TensorId x, const std::string& name, std::int64_t from, std::int64_t to) {
  Attributes conv;
  conv.set("pads_begin", std::vector<std::int64_t>{1, 1});
  conv.set("pads_end", std::vector<std::int64_t>{1, 1});
  const DType type = b.info(x).type;
  const TensorId y = b.one("conv", {x, b.weight(name, type, {to, from, 3, 3})}, conv);
  const TensorId gamma = b.weight(name + "_gamma", type, {to}), beta = b.weight(name + "_beta", type, {to});
  return b.unary("relu", b.batch_norm(y, gamma, beta, 1e-5));
}

MakeGraph network(std::int64_t group, DType type = DType::fp32) {
  return [=](std::int64_t samples) {
    Graph graph;
    graph.name = "network";
    graph.micro_batch = samples;
    graph.statistics_group = group;
    GraphBuilder b(graph);
    b.begin_unit("first", 0);
    TensorId y = convolved(b, b.input("x", type, {samples, 3, 5, 5}), "first", 3, 8);
    b.begin_unit("second", 1);
    y = convolved(b, y, "second", 8, 8);
    b.begin_unit("head");
    y = b.reduce("mean", y, {2, 3}, false);
    const TensorId logits = b.linear(y, b.weight("fc", type, {8, 24}), b.weight("bias", type, {24}));
    graph.loss = b.cross_entropy(logits, b.input("labels", DType::int32, {samples}));
    graph.outputs = {graph.loss};
    add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam", .epsilon = 1e-3});
    return graph;
  };
}

class Statistics : public testing::Test {
 protected:
  static Lowered lowered(std::int64_t group, const Plan& plan, DType type = DType::fp32) {
    return {network(group, type), plan, OptimizerSpec{.kind = "adam", .epsilon = 1e-3}};
  }
  static void expect_same_bits(std::int64_t group, Plan plan, DType type = DType::fp32) {
    SCOPED_TRACE(label(plan) + ", groups of " + std::to_string(group));
    plan.precision.weights = plan.precision.activations = type;
    Lowered l = lowered(group, plan, type);
    l.context.chunk = std::min<std::int64_t>(plan.micro_batch, 2);  // the head contracts over samples
    l.context.rounding = type == DType::fp16 ? Rounding::stochastic : Rounding::nearest;
    EXPECT_EQ(check_plan(plan, l.table().facts(), load_machine_of(plan), true), "");
    EXPECT_EQ(l.unequal_bits(l.run(Arithmetic::exact)), "");
    if (type == DType::fp32) {
      EXPECT_EQ(l.difference(l.run(), 1e-4), "");
    }
  }
  static Machine load_machine_of(const Plan& plan) {
    return load_machine(nlohmann::json{{"base", "toy"}, {"partition", plan.ipus()}}, "test");
  }
};

TEST_F(Statistics, OfGroupsWithinAMicroBatch) {
  expect_same_bits(4, plain_plan(kNetworkUnits, {}, 1, 1, 4, 2));
  expect_same_bits(2, plain_plan(kNetworkUnits, {}, 1, 1, 4, 2));
  expect_same_bits(2, plain_plan(kNetworkUnits, {}, 1, 2, 4, 1));
  expect_same_bits(1, plain_plan(kNetworkUnits, {}, 1, 2, 2, 2));
  expect_same_bits(3, plain_plan(kNetworkUnits, {2, 1}, 1, 1, 6, 2));
  expect_same_bits(2, plain_plan(kNetworkUnits, {}, 2, 1, 4, 4));
}

TEST_F(Statistics, OfGroupsOverReplicas) {
  for (std::int64_t r : {2, 4}) {
    expect_same_bits(4, plain_plan(kNetworkUnits, {}, 1, r, 2, 1));
    expect_same_bits(2 * r, plain_plan(kNetworkUnits, {}, 1, r, 2, 1));
    expect_same_bits(r, plain_plan(kNetworkUnits, {}, 1, r, 1, 1));
  }
  expect_same_bits(4, plain_plan(kNetworkUnits, {2, 1}, 1, 2, 2, 1));
  expect_same_bits(4, plain_plan(kNetworkUnits, {1, 2}, 1, 4, 2, 1));
  Plan pipeline = plain_plan(kNetworkUnits, {}, 2, 4, 2, 1);
  pipeline.schedule = Schedule::sequential;
  expect_same_bits(4, pipeline);
  pipeline.tensor_parallel = {2, 1};
  pipeline.replicas = 2;
  expect_same_bits(4, pipeline);
  Plan again = plain_plan(kNetworkUnits, {}, 1, 4, 2, 1);
  again.recompute = {Recompute::layer};
  again.replicated_tensor_sharding = {1, 1, 2};
  expect_same_bits(4, again);
}

TEST_F(Statistics, OfHalvesWithStochasticRounding) {
  expect_same_bits(4, plain_plan(kNetworkUnits, {}, 1, 4, 2, 1), DType::fp16);
  expect_same_bits(2, plain_plan(kNetworkUnits, {}, 1, 2, 4, 1), DType::fp16);
}

TEST_F(Statistics, AreJoinedInBothPasses) {
  const Lowered l = lowered(4, plain_plan(kNetworkUnits, {}, 1, 2, 2, 1));
  for (Pass pass : {Pass::forward, Pass::backward}) {
    Program changed = l.program;
    std::size_t joins = 0;
    for (Function& f : changed.functions) {
      if (f.pass == pass) joins += std::erase_if(f.steps, [](const Step& s) { return s.data == Data::statistics; });
    }
    EXPECT_EQ(joins, 4U);  // a mean and a mean square, of each of two layers
    EXPECT_NE(l.unequal_bits(l.run(changed, Arithmetic::exact)), "");
    EXPECT_NE(l.difference(l.run(changed)), "");
  }
}

// Neighbours share a group: 0 and 1, 2 and 3. With others the sums are other sums.
TEST_F(Statistics, AreThoseOfConsecutiveReplicas) {
  const Lowered l = lowered(4, plain_plan(kNetworkUnits, {}, 1, 4, 2, 1));
  Program changed = l.program;
  for (Function& f : changed.functions) {
    for (Step& s : f.steps) {
      if (s.data == Data::statistics) s.group.stride *= 2;
    }
  }
  EXPECT_NE(l.unequal_bits(l.run(changed, Arithmetic::exact)), "");
}

TEST_F(Statistics, OfAnotherGroupAreOtherStatistics) {
  const Plan plan = plain_plan(kNetworkUnits, {}, 1, 2, 4, 1);
  const Executed fours = lowered(4, plan).run(Arithmetic::exact), twos = lowered(2, plan).run(Arithmetic::exact);
  const Executed all = lowered(8, plan).run(Arithmetic::exact);
  const auto loss = [](const Executed& e, const Graph& g) { return e.values.at(g.loss).at(0); };
  EXPECT_NE(loss(fours, lowered(4, plan).graph), loss(twos, lowered(2, plan).graph));
  EXPECT_NE(loss(fours, lowered(4, plan).graph), loss(all, lowered(8, plan).graph));
}

// 1 / (3 samples x 25 positions) / 3 is another number.
TEST_F(Statistics, CountTheWholeGroupAtOnce) {
  const Graph graph = network(9)(3);
  std::int64_t statistics = 0;
  for (const Op& op : graph.ops) {
    if (op.def->name != "reduce" || op.attrs.integer("across") == 0) continue;
    EXPECT_EQ(op.attrs.integer("across"), 3);
    EXPECT_EQ(op.attrs.number("scale"), 1.0 / (9 * 25));
    ++statistics;
  }
  EXPECT_EQ(statistics, 8);
}

std::string why_not(std::int64_t group, std::int64_t samples) {
  try {
    network(group)(samples);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(Statistics, AreRefusedWhereAGroupWouldBeSplit) {
  EXPECT_THAT(why_not(8, 3), testing::HasSubstr("a statistics group of 8 samples cannot be cut into micro-batches of "
                                                "3; expected a multiple or a divisor"));
  const Plan legal = plain_plan(kNetworkUnits, {}, 1, 4, 2, 1);
  const Lowered l = lowered(4, legal);
  EXPECT_EQ(check_plan(legal, l.table().facts(), load_machine_of(legal), true), "");
  const Lowered sixes = lowered(6, plain_plan(kNetworkUnits, {}, 1, 3, 2, 1));
  EXPECT_EQ(check_plan(legal, sixes.table().facts(), load_machine_of(legal), true),
            "a statistics group of 6 samples takes micro-batches of 2 on 3 replicas at once; found 4 replicas, "
            "expected a multiple of 3");
}

}  // namespace
}  // namespace superstep
