// SPDX-License-Identifier: Apache-2.0
// Each rule against the same rule written down once more in plain loops, three steps in fp32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/error.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "numbers.h"

namespace superstep {
namespace {

using Vector = std::vector<double>;

double norm(const Vector& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); }

// One weight with loss = mean of squares of (w - target), so that the gradient is known: 2 (w - target) / n.
struct Problem {
  Graph graph;
  TensorId weight;
  Values feeds;
  Vector target{0.5, -1.0, 2.0, 0.1};

  Problem(const OptimizerSpec& spec, DType type, LossScaling scaling = LossScaling::none) {
    GraphBuilder b(graph);
    weight = b.weight("w", type, {4});
    const TensorId goal = b.input("target", type, {4});
    graph.loss = b.reduce("mean_square", b.binary("sub", weight, goal), {0}, false, DType::fp32);
    add_optimizer(graph, add_gradients(graph, scaling), spec, scaling);
    check(graph);
    feeds = random_feeds(graph, 1, 1);
    feeds[weight] = Array::from(type, {4}, start());
    feeds[goal] = Array::from(type, {4}, target);
    for (const auto& [before, after] : graph.updates) {
      if (graph.tensors[before].name.ends_with("master")) feeds[before] = Array::from(DType::fp32, {4}, start());
    }
  }
  static Vector start() { return {1.0, 0.25, -0.75, 0.5}; }

  void step() {
    const Values all = evaluate(graph, feeds, {});
    for (const auto& [before, after] : graph.updates) feeds[before] = all.at(after);
  }
  Vector values() const { return feeds.at(weight).values(); }
};

struct State {
  Vector w, m = Vector(4), v = Vector(4);
  int t = 0;
};

void reference_step(const OptimizerSpec& s, const Vector& target, State& state) {
  Vector g(4), u(4);
  ++state.t;
  for (std::size_t i = 0; i < 4; ++i) g[i] = 2 * (state.w[i] - target[i]) / 4;
  const bool adaptive = s.kind == "adam" || s.kind == "adamw" || s.kind == "lamb";
  const double local = s.trust_coefficient * norm(state.w) / (norm(g) + s.weight_decay * norm(state.w));
  for (std::size_t i = 0; i < 4; ++i) {
    if (s.kind != "adamw" && s.kind != "lamb") g[i] += s.weight_decay * state.w[i];
    if (s.kind == "lars") g[i] *= local;
    if (s.kind == "sgd") u[i] = g[i];
    if (s.kind == "sgd_momentum" || s.kind == "lars") u[i] = state.m[i] = s.momentum * state.m[i] + g[i];
    if (!adaptive) continue;
    state.m[i] = s.beta1 * state.m[i] + (1 - s.beta1) * g[i];
    state.v[i] = s.beta2 * state.v[i] + (1 - s.beta2) * g[i] * g[i];
    const double m = state.m[i] / (1 - std::pow(s.beta1, state.t)), v = state.v[i] / (1 - std::pow(s.beta2, state.t));
    u[i] = m / (std::sqrt(v) + s.epsilon);
    if (s.kind != "adam") u[i] += s.weight_decay * state.w[i];
  }
  const double ratio = s.kind == "lamb" ? norm(state.w) / norm(u) : 1;
  for (std::size_t i = 0; i < 4; ++i) state.w[i] -= s.learning_rate * ratio * u[i];
}

class Optimizers : public testing::TestWithParam<std::string> {};

TEST_P(Optimizers, FollowTheirRule) {
  OptimizerSpec spec{.kind = GetParam(), .learning_rate = 0.1, .weight_decay = 0.01};
  if (spec.kind == "lamb") spec.epsilon = 1e-6;
  Problem problem(spec, DType::fp32);
  State state{Problem::start()};
  for (int t = 0; t < 3; ++t) {
    problem.step();
    reference_step(spec, problem.target, state);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(problem.values()[i], state.w[i], 2e-6) << "step " << t;
  }
}

TEST_P(Optimizers, KeepTheStateThatTheySayTheyKeep) {
  for (const bool master : {false, true}) {
    const OptimizerSpec spec{.kind = GetParam(), .second_moment = DType::fp16, .master_weights = master};
    const Problem problem(spec, DType::fp16);
    std::int64_t bytes = 0;
    for (const Tensor& t : problem.graph.tensors) {
      if (t.kind == TensorKind::optimizer_state && !t.name.ends_with("/step")) bytes += t.info.bytes().value;
    }
    EXPECT_EQ(bytes, 4 * state_bytes_per_parameter(spec));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Optimizers, testing::ValuesIn(optimizer_kinds()),
                         [](const auto& test) { return test.param; });

TEST(Optimizer, KeepsAMasterCopyMovingWhereHalfPrecisionWouldStandStill) {
  // 0.25 moves by 2e-5 a step; halves near 0.25 are 1.2e-4 apart.
  OptimizerSpec spec{.kind = "sgd", .learning_rate = 4e-5};
  Problem plain(spec, DType::fp16);
  spec.master_weights = true;
  Problem master(spec, DType::fp16);
  for (int t = 0; t < 10; ++t) {
    plain.step();
    master.step();
  }
  EXPECT_EQ(plain.values()[1], 0.25);
  EXPECT_NEAR(master.values()[1], 0.25 - 10 * 4e-5 * 0.625, 1.3e-4);
  EXPECT_NE(master.values()[1], 0.25);
}

TEST(Optimizer, DoesNotMoveAWeightOfNormZeroByTrustRatioButByStep) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId w = b.weight("w", DType::fp32, {2});
  graph.loss = b.reduce("sum", w, {0}, false);
  add_optimizer(graph, add_gradients(graph), {.kind = "lamb", .learning_rate = 0.5, .epsilon = 1e-6});
  Values feeds = random_feeds(graph, 1, 1);
  feeds[w] = Array::from(DType::fp32, {2}, {0, 0});
  const Values all = evaluate(graph, feeds, {});
  for (const auto& [before, after] : graph.updates) {
    if (before == w) {
      EXPECT_NEAR(all.at(after).at(0), -0.5, 1e-5);  // ratio 1, direction 1
    }
  }
}

TEST(Optimizer, CountsStepsOncePerUnitSoThatNoStageWaitsForAnother) {
  Graph graph;
  GraphBuilder b(graph);
  TensorId x = b.input("x", DType::fp32, {2, 3});
  for (int i = 0; i < 3; ++i) {
    b.begin_unit("unit" + std::to_string(i));
    const GraphBuilder::Scope scope(b, "unit" + std::to_string(i));
    x = b.linear(x, b.weight("w", DType::fp32, {3, 3}), b.weight("bias", DType::fp32, {3}));
  }
  graph.loss = b.reduce("mean_square", x, {0, 1}, false);
  add_optimizer(graph, add_gradients(graph), {.kind = "adam"});
  check(graph);
  int steps = 0;
  for (const Tensor& t : graph.tensors) steps += t.name.ends_with("/step");
  EXPECT_EQ(steps, 3);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::update) continue;
    for (TensorId t : op.inputs) {
      const OpId producer = graph.tensors[t].producer;
      if (producer.valid()) {
        EXPECT_EQ(graph.ops[producer].unit, op.unit) << op.name;
      }
    }
  }
}

TEST(Optimizer, NamesTheKindsThereAre) {
  Graph graph;
  try {
    add_optimizer(graph, {}, {.kind = "adamW"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("unknown optimizer \"adamW\""));
  }
}

// The numbers named in autodiff.h.
void feed_loss_scale(Problem& problem, double scale) {
  int found = 0;
  for (std::size_t i = 0; i < problem.graph.tensors.size(); ++i) {
    const Tensor& tensor = problem.graph.tensors[TensorId(i)];
    const bool inverse = tensor.name.starts_with(kInverseLossScale);
    if (tensor.kind != TensorKind::constant || (!inverse && tensor.name != kLossScale)) continue;
    problem.feeds[TensorId(i)] = Array::from(tensor.info.type, tensor.info.shape, {inverse ? 1 / scale : scale});
    ++found;
  }
  ASSERT_EQ(found, 2);
}

TEST(LossScaling, APowerOfTwoChangesGradientsAndNoUpdate) {
  for (const std::string& kind : optimizer_kinds()) {
    for (DType type : {DType::fp32, DType::fp64}) {
      OptimizerSpec spec;
      spec.kind = kind;
      Problem plain(spec, type), one(spec, type, LossScaling::fed), scaled(spec, type, LossScaling::fed);
      feed_loss_scale(scaled, 1024);
      const auto gradient = [](const Problem& p) {
        const Values all = evaluate(p.graph, p.feeds, {});
        for (const auto& [t, value] : all) {
          if (p.graph.tensors[t].kind == TensorKind::weight_gradient) return value.values();
        }
        return Vector();
      };
      Vector expected = gradient(plain);
      for (double& x : expected) x *= 1024;
      EXPECT_EQ(gradient(scaled), expected);
      for (Problem* p : {&plain, &one, &scaled}) p->step();
      EXPECT_EQ(one.values(), plain.values()) << kind;
      EXPECT_EQ(scaled.values(), plain.values()) << kind;
    }
  }
}

}  // namespace
}  // namespace superstep
