// SPDX-License-Identifier: Apache-2.0
// Laws that every op obeys, tried on every use in op_cases.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "model/execute/evaluate.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/ops/compute.h"
#include "model/ops/conv.h"
#include "model/ops/matmul.h"
#include "op_use.h"

namespace superstep {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class OpLaws : public testing::TestWithParam<OpCase> {};

double combined(double old, double value, Reduction reduction) {
  if (reduction == Reduction::max) return std::max(old, value);
  if (reduction == Reduction::min) return std::min(old, value);
  return reduction == Reduction::sum ? old + value : value;
}

struct Tiled {
  std::vector<Array> results;
  std::vector<std::vector<int>> writes;  // per result and element: how many blocks had it
};

// Every block sees nothing but the regions that the projections give.
Tiled run_blocks(const Call& c, const Space& space, const std::vector<Block>& blocks) {
  Tiled tiled;
  for (const TensorInfo& info : c.out) {
    tiled.results.emplace_back(info);
    for (std::int64_t i = 0; i < info.elements(); ++i) {
      tiled.results.back().set(i, space.reduction == Reduction::none ? kNan : identity_of(space.reduction));
    }
    tiled.writes.emplace_back(static_cast<std::size_t>(info.elements()));
  }
  for (const Block& block : blocks) {
    std::vector<Array> parts, results;
    std::vector<ConstView> in;
    std::vector<View> out;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const Block region = project(space.in[i], c.in[i].shape, block);
      parts.push_back(cut(c.values[i], region));
      in.push_back({c.in[i].type, region, nullptr});
    }
    for (std::size_t i = 0; i < c.out.size(); ++i) {
      const Block region = project(space.out[i], c.out[i].shape, block);
      results.push_back(cut(tiled.results[i], region));
      const double start = space.reduction == Reduction::none ? kNan : identity_of(space.reduction);
      for (std::int64_t k = 0; k < results.back().info.elements(); ++k) results.back().set(k, start);
      out.push_back({c.out[i].type, region, nullptr});
    }
    for (std::size_t i = 0; i < in.size(); ++i) in[i].data = parts[i].data.data();
    for (std::size_t i = 0; i < out.size(); ++i) out[i].data = results[i].data.data();
    c.def.kernel(c.call(), block, in, out, Call::context());
    for (std::size_t i = 0; i < out.size(); ++i) {
      each_element(out[i].region, c.out[i].shape, [&](std::int64_t k, std::int64_t at) {
        const double value = combined(tiled.results[i].at(at), results[i].at(k), space.reduction);
        tiled.results[i].set(at, value);
        ++tiled.writes[i][static_cast<std::size_t>(at)];
      });
    }
  }
  return tiled;
}

void expect_near(const Array& a, const Array& b, double tolerance) {
  ASSERT_EQ(a.info, b.info);
  for (std::int64_t i = 0; i < a.info.elements(); ++i) {
    const double x = a.at(i), y = b.at(i);
    ASSERT_EQ(std::isnan(x), std::isnan(y)) << "element " << i;
    if (std::isnan(x) || x == y) continue;
    ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::abs(x))) << "element " << i;
  }
}

TEST_P(OpLaws, ResultsHaveTheInferredTypesAndNoElementIsLeftOut) {
  const Call c(GetParam(), 1);
  const Space space = c.def.space(c.call());
  ASSERT_EQ(space.in.size(), c.in.size());
  ASSERT_EQ(space.out.size(), c.out.size());
  Block whole;
  for (const Axis& axis : space.axes) whole.push_back({0, axis.extent});
  for (const std::vector<int>& writes : run_blocks(c, space, {whole}).writes) {
    for (int n : writes) EXPECT_EQ(n, 1);
  }
}

TEST_P(OpLaws, BlocksThatSeeOnlyTheirRegionsMakeTheWhole) {
  const Call c(GetParam(), 2);
  const Space space = c.def.space(c.call());
  const std::vector<Array> whole = c.evaluate(c.values);
  std::mt19937 random(3);
  for (int trial = 0; trial < 8; ++trial) {
    const Tiled tiled = run_blocks(c, space, blocks_of(random_grid(space, random, true)));
    const double tolerance = c.in[0].type == DType::fp64 ? 1e-12 : 1e-2;
    for (std::size_t i = 0; i < whole.size(); ++i) expect_near(tiled.results[i], whole[i], tolerance);
  }
}

TEST_P(OpLaws, SplitsOfParallelAxesWriteEachElementOnceAndTheSameBits) {
  const Call c(GetParam(), 4);
  const Space space = c.def.space(c.call());
  const std::vector<Array> whole = c.evaluate(c.values);
  std::mt19937 random(5);
  for (int trial = 0; trial < 4; ++trial) {
    const Tiled tiled = run_blocks(c, space, blocks_of(random_grid(space, random, false)));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (int n : tiled.writes[i]) ASSERT_EQ(n, 1);
      expect_near(tiled.results[i], whole[i], 0);
    }
  }
}

TEST_P(OpLaws, OperandsMarkedLinearAre) {
  const Call c(GetParam(), 6);
  const Space space = c.def.space(c.call());
  if (space.linear == 0 || c.in[0].type == DType::fp16) return;  // not linear, or too coarse a type
  std::vector<Array> other = Call(GetParam(), 7).values, sum = c.values;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (!(space.linear >> i & 1)) {
      other[i] = c.values[i];
      continue;
    }
    for (std::int64_t k = 0; k < sum[i].info.elements(); ++k) sum[i].set(k, c.values[i].at(k) + other[i].at(k));
  }
  const std::vector<Array> a = c.evaluate(c.values), b = c.evaluate(other), ab = c.evaluate(sum);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::int64_t k = 0; k < a[i].info.elements(); ++k) {
      ASSERT_NEAR(ab[i].at(k), a[i].at(k) + b[i].at(k), 1e-9);
    }
  }
}

TileCosts tile_costs() {
  TileCosts costs;
  costs.launch = Cycles(11);
  costs.amp = {64, 32, 16, 16, Cycles(160), Cycles(300), BytesPerCycle(0), false};
  return costs;
}

std::vector<std::int64_t> random_extents(const Space& space, std::mt19937& random) {
  std::vector<std::int64_t> extents;
  for (const Axis& axis : space.axes) {
    const bool whole = axis.kind == AxisKind::whole;
    extents.push_back(whole ? axis.extent : std::uniform_int_distribution<std::int64_t>(1, axis.extent)(random));
  }
  return extents;
}

TEST_P(OpLaws, CyclesArePositiveAndNeverShrinkAsABlockGrows) {
  const Call c(GetParam(), 8);
  const Space space = c.def.space(c.call());
  std::mt19937 random(9);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> small = random_extents(space, random), large = small;
    for (std::size_t a = 0; a < large.size(); ++a) {
      large[a] = std::uniform_int_distribution<std::int64_t>(small[a], space.axes[a].extent)(random);
    }
    const Cycles less = c.def.cycles(tile_costs(), c.call(), small), more = c.def.cycles(tile_costs(), c.call(), large);
    if (!c.def.view) {
      ASSERT_GT(less, Cycles(0));
    }
    ASSERT_LE(less, more);
  }
}

TEST_P(OpLaws, HalfABlockCostsAtLeastHalf) {
  const Call c(GetParam(), 10);
  const Space space = c.def.space(c.call());
  std::vector<std::int64_t> whole;
  for (const Axis& axis : space.axes) whole.push_back(axis.extent);
  const Cycles all = c.def.cycles(tile_costs(), c.call(), whole);
  for (std::size_t a = 0; a < whole.size(); ++a) {
    if (space.axes[a].kind == AxisKind::whole || whole[a] < 2) continue;
    std::vector<std::int64_t> half = whole;
    half[a] = ceil_div(whole[a], 2);
    EXPECT_GE(c.def.cycles(tile_costs(), c.call(), half) * 2, all) << "axis " << space.axes[a].name;
  }
}

// A loss that gives every element of every result another weight.
struct Differentiated {
  Graph graph;
  std::vector<TensorId> operands;
  Values feeds;
  std::map<TensorId, TensorId> gradients;

  explicit Differentiated(const OpCase& c) {
    GraphBuilder b(graph);
    const Call call(c, 11);
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const std::string name = "operand" + std::to_string(i);
      const bool trained = is_float(call.in[i].type);
      operands.push_back(trained ? b.weight(name, call.in[i].type, call.in[i].shape)
                                 : b.input(name, call.in[i].type, call.in[i].shape));
      feeds[operands.back()] = call.values[i];
    }
    std::mt19937 random(12);
    for (TensorId result : b.add(c.op, operands, c.attrs)) {
      const TensorInfo info = b.info(result);
      if (!is_float(info.type)) continue;  // places: they do not change within a difference
      const TensorId weights = b.constant(random_array({info.type, info.shape}, random));
      std::vector<std::int64_t> all;
      for (std::size_t d = 0; d < info.shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
      const TensorId part = b.reduce("sum", b.binary("mul", result, weights), all, false);
      graph.loss = graph.loss.valid() ? b.binary("add", graph.loss, part) : part;
    }
    gradients = add_gradients(graph);
    check(graph);
  }

  double loss(const Values& values) const {
    Values all = evaluate(graph, values, Call::context());
    return all.at(graph.loss).at(0);
  }
};

// Whether the case is differentiated: fp16 and fp32 are too coarse. The gradient of a rounding is that of what it
// rounds.
bool differentiated(const Call& call) {
  if (!call.def.gradient || call.def.name == "stop_gradient" || call.def.name == "bfloat16") return false;
  bool fine = call.out[0].type == DType::fp64;
  for (const TensorInfo& info : call.in) fine = fine && (!is_float(info.type) || info.type == DType::fp64);
  return fine;
}

TEST_P(OpLaws, GradientsEqualFiniteDifferences) {
  const OpCase& c = GetParam();
  const Call call(c, 11);
  if (!differentiated(call)) return;
  const Differentiated d(c);
  const Values all = evaluate(d.graph, d.feeds, Call::context());
  constexpr double kStep = 1e-5;
  for (TensorId operand : d.operands) {
    if (d.graph.tensors[operand].kind != TensorKind::weight) continue;
    const auto found = d.gradients.find(operand);
    for (std::int64_t i = 0; i < d.graph.info(operand).elements(); i += 1 + i / 6) {
      Values feeds = d.feeds;
      const double x = feeds[operand].at(i);
      feeds[operand].set(i, x + kStep);
      const double above = d.loss(feeds);
      feeds[operand].set(i, x - kStep);
      const double expected = (above - d.loss(feeds)) / (2 * kStep);
      const double actual = found == d.gradients.end() ? 0 : all.at(found->second).at(i);
      ASSERT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << d.graph.tensors[operand].name << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpLaws, testing::ValuesIn(op_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Registry, EveryGradientIsComparedWithDifferences) {
  std::set<std::string> compared;
  for (const OpCase& c : op_cases()) {
    if (differentiated(Call(c, 11))) compared.insert(c.op);
  }
  for (const OpDef* def : all_ops()) {
    // Results that are truth values have no slope; a gradient that is stopped is not that of the values.
    const std::set<std::string_view> without = {"equal",         "not_equal",     "less",       "less_equal", "greater",
                                                "greater_equal", "and",           "or",         "xor",        "not",
                                                "is_nan",        "stop_gradient", "bfloat16",   "bit_and",    "bit_or",
                                                "bit_xor",       "bit_not",       "shift_left", "shift_right"};
    EXPECT_EQ(compared.contains(std::string(def->name)), def->gradient != nullptr && !without.contains(def->name))
        << def->name;
  }
}

TEST(Registry, EveryOpIsTriedAndComplete) {
  std::set<std::string> tried;
  for (const OpCase& c : op_cases()) tried.insert(c.op);
  for (const OpDef* def : all_ops()) {
    EXPECT_TRUE(tried.count(std::string(def->name))) << def->name << " has no case in op_cases.cc";
    EXPECT_TRUE(def->infer && def->space && def->kernel && def->cycles) << def->name;
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

// Dimensions of the matrix product agree with the axes they are made of.
TEST_P(OpLaws, MatrixProductsAreTheProductOfTheirAxes) {
  const Call c(GetParam(), 13);
  if (c.def.name != "matmul") return;  // not a matrix product
  const Space space = c.def.space(c.call());
  const ProductAxes axes = c.def.product->axes(c.call());
  const MatmulDims dims = matmul_dims(c.call());
  const auto product = [&](const std::vector<int>& of) {
    std::int64_t p = 1;
    for (int a : of) p *= space.axes[static_cast<std::size_t>(a)].extent;
    return p;
  };
  EXPECT_EQ(dims.batch, product(axes.batch));
  EXPECT_EQ(dims.rows, product(axes.rows));
  EXPECT_EQ(dims.columns, product(axes.columns));
  EXPECT_EQ(dims.contracted, product(axes.contracted));
  EXPECT_EQ(axes.batch.size() + axes.rows.size() + axes.columns.size() + 1, space.axes.size());
}

TEST(ConvProduct, ForwardAndGradientsDoTheSameWork) {
  for (const OpCase& c : op_cases()) {
    if (c.name != "conv_3x3" && c.name != "conv_3x3_weight_grad" && c.name != "conv_3x3_input_grad") continue;
    const MatmulDims d = conv_product(Call(c, 1).call());
    EXPECT_EQ(d.batch * d.rows * d.columns * d.contracted, 2 * 6 * 7 * 4 * 3 * 9) << c.name;
  }
}

}  // namespace
}  // namespace superstep
