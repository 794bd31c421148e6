// SPDX-License-Identifier: Apache-2.0
// What generic code asks of an op's table, tried on every use in op_cases.cc: each answer is a law.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/graph/builder.h"
#include "model/ops/compute.h"
#include "model/ops/product_def.h"
#include "op_use.h"

namespace superstep {
namespace {

class OpQuestions : public testing::TestWithParam<OpCase> {};

void fill(Array& array, double value) {
  for (std::int64_t i = 0; i < array.info.elements(); ++i) array.set(i, value);
}

double tolerance(const Call& c) {
  const auto is_double = [](const TensorInfo& info) { return info.type == DType::fp64; };
  return std::ranges::all_of(c.in, is_double) && std::ranges::all_of(c.out, is_double) ? 1e-9 : 2e-2;
}

// The element of a row-major array at the lower corner of a region.
double corner(const Array& array, const Block& region) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < region.size(); ++d) at = at * array.info.shape[d] + region[d].begin;
  return array.at(at);
}

TEST_P(OpQuestions, ViewsAndRegroupedResultsAreTheOperandsElementsInTheirOrder) {
  const Call c(GetParam(), 21);
  if (!c.def.view && !c.def.regroups) return;
  const std::vector<Array> results = c.evaluate(c.values);
  EXPECT_TRUE(c.def.moves);
  EXPECT_EQ(results[0].data, c.values[0].data);
}

TEST_P(OpQuestions, LinearIsLinearInEachSetThatIsSaidToBe) {
  const Call c(GetParam(), 22);
  if (!c.def.linear_in) return;
  const Space space = c.def.space(c.call());
  if (space.linear != 0) {
    EXPECT_TRUE(c.def.linear_in(c.call(), space.linear)) << "partial sums may pass through";
  }
  const std::vector<Array> other = Call(GetParam(), 23).values;
  for (std::uint32_t set = 1; set < 1u << c.in.size(); ++set) {
    if (!c.def.linear_in(c.call(), set)) continue;
    std::vector<Array> b = c.values, sum = c.values;
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      if (!(set >> k & 1)) continue;
      b[k] = other[k];
      for (std::int64_t i = 0; i < sum[k].info.elements(); ++i) sum[k].set(i, c.values[k].at(i) + other[k].at(i));
    }
    const Array a_of = c.evaluate(c.values)[0], b_of = c.evaluate(b)[0], sum_of = c.evaluate(sum)[0];
    for (std::int64_t i = 0; i < a_of.info.elements(); ++i)
      ASSERT_NEAR(sum_of.at(i), a_of.at(i) + b_of.at(i), tolerance(c)) << "set " << set << ", element " << i;
  }
}

TEST_P(OpQuestions, RandomResultsAloneDependOnKeysAndPlaces) {
  const Call c(GetParam(), 24);
  std::vector<const Array*> operands;
  for (const Array& value : c.values) operands.push_back(&value);
  const std::vector<Array> here = evaluate_op(c.call(), operands, {.seed = 1}),
                           there = evaluate_op(c.call(), operands, {.seed = 2, .step = 9});
  bool same = true;
  for (std::size_t i = 0; i < here.size(); ++i) same = same && here[i].data == there[i].data;
  EXPECT_NE(same, c.def.random);
}

// Of results that are small, as all of these are.
TEST_P(OpQuestions, ConstantsFoldButForRandomOpsAndThoseWithATensorOfTheirOwn) {
  const Call c(GetParam(), 25);
  Graph graph;
  GraphBuilder b(graph);
  std::vector<TensorId> operands;
  for (const Array& value : c.values) operands.push_back(b.constant(value));
  for (TensorId t : b.add(GetParam().op, operands, GetParam().attrs))
    EXPECT_EQ(graph.tensors[t].kind == TensorKind::constant, c.def.folds && !c.def.random);
}

TEST_P(OpQuestions, SumsAndProductsAreThoseOfTheOperandsElements) {
  const Call c(GetParam(), 26);
  if (c.def.joins == Joins::other) return;
  const Space space = c.def.space(c.call());
  const Array result = c.evaluate(c.values)[0];
  Block whole;
  for (const Axis& axis : space.axes) whole.push_back({0, axis.extent});
  std::vector<std::vector<Range>> grid;
  for (const Range& range : whole) {
    grid.emplace_back();
    for (std::int64_t i = 0; i < range.end; ++i) grid.back().push_back({i, i + 1});
  }
  for (const Block& point : blocks_of(grid)) {
    double expected = c.def.joins == Joins::sum ? 0 : 1;
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      const double value = corner(c.values[k], project(space.in[k], c.in[k].shape, point));
      expected = c.def.joins == Joins::sum ? expected + value : expected * value;
    }
    ASSERT_NEAR(corner(result, project(space.out[0], c.out[0].shape, point)), expected, 1e-12);
  }
}

// All lookups name row 0: what other rows hold does not matter, and the table is walked through along one axis.
TEST_P(OpQuestions, LookupsTakeNothingButTheElementsNamed) {
  const Call c(GetParam(), 27);
  if (c.def.lookup != Lookup::takes) return;
  const Space space = c.def.space(c.call());
  EXPECT_EQ(std::ranges::count(space.axes, AxisKind::reduce, &Axis::kind), 1);
  const auto row =
      static_cast<std::size_t>(std::ranges::find(space.axes, AxisKind::reduce, &Axis::kind) - space.axes.begin());
  std::vector<Array> operands = c.values;
  fill(operands[1], 0);
  const std::vector<Array> expected = c.evaluate(operands);
  Block others;
  for (std::size_t a = 0; a < space.axes.size(); ++a) others.push_back({a == row ? 1 : 0, space.axes[a].extent});
  each_element(project(space.in[0], c.in[0].shape, others), c.in[0].shape,
               [&](std::int64_t, std::int64_t at) { operands[0].set(at, std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_EQ(c.evaluate(operands)[0].data, expected[0].data);
}

// All of it goes to row 0; the rest is as it was, and that is zero.
TEST_P(OpQuestions, LookupsAddToNothingButTheElementsNamed) {
  const Call c(GetParam(), 28);
  if (c.def.lookup != Lookup::adds) return;
  const Space space = c.def.space(c.call());
  std::vector<Array> operands = c.values;
  fill(operands[1], 0);
  const Array result = c.evaluate(operands)[0];
  Block others;
  for (const Axis& axis : space.axes) others.push_back({0, axis.extent});
  others.back().begin = 1;  // rows
  each_element(project(space.out[0], c.out[0].shape, others), c.out[0].shape,
               [&](std::int64_t, std::int64_t at) { EXPECT_EQ(result.at(at), 0); });
  double added = 0, sum = 0;
  for (std::int64_t i = 0; i < operands[0].info.elements(); ++i) sum += operands[0].at(i);
  for (std::int64_t i = 0; i < result.info.elements(); ++i) added += result.at(i);
  EXPECT_NEAR(added, sum, 1e-9);
}

TEST_P(OpQuestions, ZeroIsNoValueForAFactorToStartFrom) {
  const Call c(GetParam(), 29);
  if (tolerance(c) > 1e-6) return;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    if (weight_role(c.def, k) != WeightRole::factor) continue;
    constexpr double kStep = 1e-12;
    std::vector<Array> operands = c.values;
    fill(operands[k], 0);
    const Array at = c.evaluate(operands)[0];
    fill(operands[k], kStep);
    const Array beside = c.evaluate(operands)[0];
    bool all_zero = c.in.size() > 1, steep = false;
    for (std::int64_t i = 0; i < at.info.elements(); ++i) {
      all_zero = all_zero && at.at(i) == 0;
      steep = steep || !std::isfinite(at.at(i)) || std::abs(beside.at(i) - at.at(i)) > 1e3 * kStep;
    }
    EXPECT_TRUE(all_zero || steep) << "operand " << k;
  }
}

TEST_P(OpQuestions, WeightsOfProductsAreThoseOfOpsThatMultiplyOrLookUp) {
  const Call c(GetParam(), 30);
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    const WeightRole role = weight_role(c.def, k);
    if (role == WeightRole::matrix) {
      EXPECT_TRUE(c.def.product || (c.def.lookup == Lookup::takes && k == 0));
    }
    if (role == WeightRole::window) {
      EXPECT_TRUE(c.def.product && c.def.product->convolution);
    }
  }
}

// Each axis of the space is in one dimension of the product, and those that are summed over are the contracted ones.
TEST_P(OpQuestions, TheAxesOfAProductAreTheSpaces) {
  const Call c(GetParam(), 31);
  if (!c.def.product) return;
  const Space space = c.def.space(c.call());
  const ProductAxes axes = c.def.product->axes(c.call());
  std::vector<int> times(space.axes.size());
  for (const auto* list : {&axes.batch, &axes.rows, &axes.columns, &axes.contracted}) {
    for (int a : *list) ++times[static_cast<std::size_t>(a)];
  }
  for (std::size_t a = 0; a < times.size(); ++a) {
    EXPECT_EQ(times[a], 1) << space.axes[a].name;
    if (space.axes[a].kind != AxisKind::reduce) continue;
    EXPECT_EQ(std::ranges::count(axes.contracted, static_cast<int>(a)), 1) << space.axes[a].name;
  }
  for (const bool backward : {false, true}) {
    const std::uint32_t turned = c.def.product->turned(c.call(), {backward, false});
    EXPECT_LT(turned, 1u << c.in.size());
    EXPECT_EQ(c.def.product->turned(c.call(), {true, true}) & turned, turned)
        << "a weight's gradient turns all of them";
  }
}

TEST_P(OpQuestions, AFullSpaceHasAnAxisForEveryDimensionOfTheResult) {
  const Call c(GetParam(), 32);
  if (!c.def.full_space) return;
  const Space space = c.def.space(c.call()), full = c.def.full_space(c.call());
  ASSERT_GE(full.axes.size(), space.axes.size());
  for (std::size_t a = 0; a < full.axes.size(); ++a) {
    const bool added = a >= space.axes.size();
    EXPECT_EQ(full.axes[a].extent, added ? 1 : space.axes[a].extent);
    if (added) {
      EXPECT_EQ(full.axes[a].kind, AxisKind::parallel);
    }
  }
  for (const DimMap& map : full.out[0]) EXPECT_GE(map.axis, 0);
}

TEST_P(OpQuestions, WhereGradientsStopNoneFlows) {
  const Call c(GetParam(), 33);
  if (!c.def.gradient) return;
  Graph graph;
  GraphBuilder b(graph);
  std::vector<TensorId> operands, grads;
  bool any_real = false;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    const bool real = is_float(c.in[k].type);
    any_real = any_real || real;
    const std::string name = "operand" + std::to_string(k);
    operands.push_back(real ? b.weight(name, c.in[k].type, c.in[k].shape) : b.input(name, c.in[k].type, c.in[k].shape));
  }
  for (TensorId t : b.add(GetParam().op, operands, GetParam().attrs))
    grads.push_back(b.input("gradient" + std::to_string(t.index), b.info(t).type, b.info(t).shape));
  if (graph.ops.size() == 0) return;  // the builder does without it
  bool flows = false;
  for (TensorId t : c.def.gradient(b, OpId(graph.ops.size() - 1), grads)) flows = flows || t.valid();
  EXPECT_EQ(flows, any_real && !stops_gradients(c.def));
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpQuestions, testing::ValuesIn(op_cases()),
                         [](const auto& test) { return test.param.name; });

// What follows says so of the ops of the table that it is true of, in words that no case could draw.
TEST(OpTable, AMeanAndAStatisticsGroupAreAskedOfTheReduction) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {4, 6});
  const auto made = [&](TensorId t) { return statistic_of(graph.ops[graph.tensors[t].producer]); };
  const TensorId sum = b.reduce("sum", x, {0}, false), mean = b.reduce("mean", x, {0}, false);
  EXPECT_FALSE(made(sum).mean);
  EXPECT_TRUE(made(mean).mean);
  EXPECT_EQ(made(mean).across, 0);
  EXPECT_EQ(made(b.group_statistic(mean, 4)).across, 4);
  EXPECT_FALSE(made(b.binary("add", x, x)).mean);
}

TEST(OpTable, TheWorkOfRandomOpsIsTheSameWhateverTheyDraw) {
  const auto signature_with = [](double ratio, std::string_view scope) {
    Graph graph;
    GraphBuilder b(graph);
    const GraphBuilder::Scope inside(b, std::string(scope));
    b.dropout(b.input("x", DType::fp32, {4, 6}), ratio);
    const Pass forward[] = {Pass::forward};
    return signature(graph, UnitId(std::size_t{0}), forward);
  };
  EXPECT_EQ(signature_with(0.1, "a"), signature_with(0.4, "b"));
}

}  // namespace
}  // namespace superstep
