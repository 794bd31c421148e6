// SPDX-License-Identifier: Apache-2.0
#include "model/training/non_finite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/graph/builder.h"

namespace superstep {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Chain {
  Graph graph;
  GraphBuilder b{graph};
  TensorId x = b.input("x", DType::fp32, {2});

  NonFinite find(TensorId result, const std::vector<double>& values) {
    return find_non_finite(graph, {{x, Array::from(DType::fp32, {2}, values)}}, {}, {result});
  }
};

TEST(NonFinite, IsTracedToTheOpThatMadeItOfFiniteOperands) {
  Chain c;
  const TensorId large = c.b.one("exp", {c.x}, {}, "grow");
  const TensorId centred = c.b.binary("sub", large, large);  // NaN of two infinities: not where it began
  const TensorId result = c.b.reduce("sum", centred, {0}, false);
  const NonFinite found = c.find(result, {1, 100});
  EXPECT_EQ(found.op, "grow");
  EXPECT_EQ(found.kind, "exp");
  EXPECT_EQ(found.tensor, c.graph.tensors[large].name);
  EXPECT_EQ(found.value, kInfinity);
  EXPECT_FALSE(c.find(result, {1, 2}).found());
}

TEST(NonFinite, DoesNotBlameWhatDidNotReachTheResult) {
  Chain c;
  c.b.unary("exp", c.x);  // overflows, and nobody reads it
  const TensorId root = c.b.one("log", {c.b.scale(c.x, -1)}, {}, "log_of_minus");
  EXPECT_EQ(c.find(root, {100, 100}).op, "log_of_minus");
}

TEST(NonFinite, LooksPastMasksOfInfinityForTheFirstNan) {
  Chain c;
  const TensorId mask = c.b.constant(Array::from(DType::fp32, {2}, {-kInfinity, -kInfinity}));
  const TensorId masked = c.b.one("add", {c.x, mask}, {}, "mask");
  const TensorId centred = c.b.one("sub", {masked, c.b.reduce("max", masked, {0}, true)}, {}, "centre");
  const NonFinite found = c.find(c.b.unary("exp", centred), {1, 2});
  EXPECT_EQ(found.op, "centre");
  EXPECT_TRUE(std::isnan(found.value));
}

TEST(NonFinite, ThatIsFedHasNoOp) {
  Chain c;
  EXPECT_FALSE(c.find(c.x, {1, NAN}).found());
}

}  // namespace
}  // namespace superstep
