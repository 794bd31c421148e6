// SPDX-License-Identifier: Apache-2.0
// Results worked out by hand: the laws only say that an op agrees with itself.
#include <gtest/gtest.h>

#include <cmath>

#include "model/execute/evaluate.h"
#include "model/graph/builder.h"

namespace superstep {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<std::int64_t>;

struct Value {
  Shape shape;
  Numbers numbers;
  DType type = DType::fp32;
};

struct Expectation {
  const char* name;
  const char* op;
  std::vector<Value> operands;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<Value> results;
};

void PrintTo(const Expectation& e, std::ostream* out) { *out << e.name; }

Value ints(Shape shape, Numbers numbers) { return {std::move(shape), std::move(numbers), DType::int32}; }
Value unsigned_ints(Numbers numbers) {
  return {{static_cast<std::int64_t>(numbers.size())}, std::move(numbers), DType::uint64};
}
AttrValue n(std::int64_t v) { return v; }
AttrValue list(Ints v) { return v; }
AttrValue text(const char* v) { return std::string(v); }

const double kNan = std::nan("");

const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> all = {
      // Numbers whose highest bit is set are large, not negative.
      {"abs_uint64", "abs", {unsigned_ints({0x1p63, 1})}, {}, {unsigned_ints({0x1p63, 1})}},
      {"relu_uint64", "relu", {unsigned_ints({0x1p63, 0})}, {}, {unsigned_ints({0x1p63, 0})}},
      {"sign_uint64", "sign", {unsigned_ints({0x1p63, 0})}, {}, {unsigned_ints({1, 0})}},
      {"max_uint64", "max", {unsigned_ints({0x1p63}), unsigned_ints({5})}, {}, {unsigned_ints({0x1p63})}},
      {"div_uint64", "div", {unsigned_ints({0x1p63}), unsigned_ints({2})}, {}, {unsigned_ints({0x1p62})}},
      {"relu", "relu", {{{4}, {-1, 0, 2, kNan}}}, {}, {{{4}, {0, 0, 2, kNan}}}},
      {"round_to_even", "round", {{{5}, {0.5, 1.5, 2.5, -0.5, -1.5}}}, {}, {{{5}, {0, 2, 2, 0, -2}}}},
      {"sign", "sign", {{{3}, {-7, 0, 3}}}, {}, {{{3}, {-1, 0, 1}}}},
      {"sigmoid_of_large", "sigmoid", {{{2}, {-1000, 1000}}}, {}, {{{2}, {0, 1}}}},
      {"softplus_of_large", "softplus", {{{2}, {-1000, 1000}}}, {}, {{{2}, {0, 1000}}}},
      {"gelu_exact", "gelu", {{{2}, {1, -1}}}, {{"approximate", text("none")}}, {{{2}, {0.8413447461, -0.1586552539}}}},
      {"gelu_tanh", "gelu", {{{2}, {1, -1}}}, {}, {{{2}, {0.8411919906, -0.1588080094}}}},
      // torch.nn.functional.silu and its gradient, in double
      {"swish", "swish", {{{3}, {1.5, -0.5, -2}}}, {}, {{{3}, {1.2263617143, -0.1887703344, -0.2384058440}}}},
      {"swish_grad", "swish_grad", {{{2}, {1.5, -0.5}}, {{2}, {1, 2}}}, {}, {{{2}, {1.0412941543, 0.5200776254}}}},
      {"affine", "affine", {{{2}, {1, 2}}}, {{"scale", 3.0}, {"shift", -1.0}}, {{{2}, {2, 5}}}},
      {"cast_truncates", "cast", {{{3}, {1.9, -1.9, 300}}}, {{"type", text("int32")}}, {ints({3}, {1, -1, 300})}},
      {"sub_broadcasts", "sub", {{{2, 1}, {10, 20}}, {{3}, {1, 2, 3}}}, {}, {{{2, 3}, {9, 8, 7, 19, 18, 17}}}},
      {"div_of_integers", "div", {ints({3}, {7, -7, 5}), ints({3}, {2, 2, 0})}, {}, {ints({3}, {3, -3, 0})}},
      {"mod_has_the_sign_of_the_divisor", "mod", {{{2}, {-7, 7}}, {{2}, {3, -3}}}, {}, {{{2}, {2, -2}}}},
      {"fmod_has_the_sign_of_the_dividend", "fmod", {{{2}, {-7, 7}}, {{2}, {3, -3}}}, {}, {{{2}, {-1, 1}}}},
      {"max_keeps_nan", "max", {{{3}, {1, kNan, 2}}, {{3}, {3, 1, kNan}}}, {}, {{{3}, {3, kNan, kNan}}}},
      {"less", "less", {{{3}, {1, 2, 3}}, {{}, {2}}}, {}, {{{3}, {1, 0, 0}, DType::boolean}}},
      {"where", "where", {{{3}, {1, 0, 1}, DType::boolean}, {{3}, {1, 2, 3}}, {{}, {9}}}, {}, {{{3}, {1, 9, 3}}}},
      {"axpby", "axpby", {{{2}, {1, 2}}, {{2}, {10, 20}}}, {{"alpha", 2.0}, {"beta", 0.5}}, {{{2}, {7, 14}}}},
      {"trust_ratio", "trust_ratio", {{{3}, {4, 0, 4}}, {{3}, {2, 1, 0}}}, {{"eta", 0.5}}, {{{3}, {1, 1, 1}}}},
      {"sum", "reduce", {{{2, 3}, {1, 2, 3, 4, 5, 6}}}, {{"axes", list({1})}}, {{{2}, {6, 15}}}},
      {"mean",
       "reduce",
       {{{2, 3}, {1, 2, 3, 4, 5, 6}}},
       {{"axes", list({0})}, {"scale", 0.5}},
       {{{3}, {2.5, 3.5, 4.5}}}},
      {"sum_of_squares",
       "reduce",
       {{{3}, {1, -2, 3}}},
       {{"kind", text("sum_square")}, {"axes", list({0})}},
       {{{}, {14}}}},
      {"maximum",
       "reduce",
       {{{2, 2}, {-5, -2, -3, -9}}},
       {{"kind", text("max")}, {"axes", list({1})}, {"keep", n(1)}},
       {{{2, 1}, {-2, -3}}}},
      {"minimum", "reduce", {{{4}, {5, 2, 3, 9}}}, {{"kind", text("min")}, {"axes", list({0})}}, {{{}, {2}}}},
      {"product", "reduce", {{{4}, {5, 2, -3, 1}}}, {{"kind", text("prod")}, {"axes", list({0})}}, {{{}, {-30}}}},
      {"matmul",
       "matmul",
       {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{3, 2}, {1, 0, 0, 1, 1, 1}}},
       {},
       {{{2, 2}, {4, 5, 10, 11}}}},
      {"matmul_of_transposes",
       "matmul",
       {{{2, 1}, {2, 3}}, {{2, 2}, {1, 10, 100, 1000}}},
       {{"transpose_a", n(1)}, {"transpose_b", n(1)}},
       {{{1, 2}, {32, 3200}}}},
      {"matmul_batched", "matmul", {{{2, 1, 1}, {2, 3}}, {{1, 2}, {5, 7}}}, {}, {{{2, 1, 2}, {10, 14, 15, 21}}}},
      {"transpose",
       "transpose",
       {{{2, 3}, {1, 2, 3, 4, 5, 6}}},
       {{"permutation", list({1, 0})}},
       {{{3, 2}, {1, 4, 2, 5, 3, 6}}}},
      {"reshape", "reshape", {{{2, 3}, {1, 2, 3, 4, 5, 6}}}, {{"shape", list({3, 2})}}, {{{3, 2}, {1, 2, 3, 4, 5, 6}}}},
      {"expand", "expand", {{{2, 1}, {1, 2}}}, {{"shape", list({2, 2, 2})}}, {{{2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}}}},
      {"slice",
       "slice",
       {{{2, 3}, {1, 2, 3, 4, 5, 6}}},
       {{"axis", n(1)}, {"begin", n(1)}, {"end", n(3)}},
       {{{2, 2}, {2, 3, 5, 6}}}},
      {"split", "split", {{{3}, {1, 2, 3}}}, {{"sizes", list({1, 2})}}, {{{1}, {1}}, {{2}, {2, 3}}}},
      {"concat",
       "concat",
       {{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}},
       {{"axis", n(1)}},
       {{{2, 3}, {1, 3, 4, 2, 5, 6}}}},
      {"pad",
       "pad",
       {{{2}, {1, 2}}},
       {{"before", list({1})}, {"after", list({2})}, {"value", 9.0}},
       {{{5}, {9, 1, 2, 9, 9}}}},
      {"pad_cuts", "pad", {{{3}, {1, 2, 3}}}, {{"before", list({-1})}, {"after", list({1})}}, {{{3}, {2, 3, 0}}}},
      {"gather_counts_from_the_end",
       "gather",
       {{{3, 2}, {1, 2, 3, 4, 5, 6}}, ints({2}, {-1, 0})},
       {},
       {{{2, 2}, {5, 6, 1, 2}}}},
      {"gather_columns",
       "gather",
       {{{2, 3}, {1, 2, 3, 4, 5, 6}}, ints({2}, {2, 2})},
       {{"axis", n(1)}},
       {{{2, 2}, {3, 3, 6, 6}}}},
      {"gather_per_sample",
       "gather",
       {{{2, 2}, {1, 2, 3, 4}}, ints({2, 1}, {1, 0})},
       {{"axis", n(1)}, {"batch_dims", n(1)}},
       {{{2, 1}, {2, 3}}}},
      {"scatter_add_sums_equal_rows",
       "scatter_add",
       {{{3, 1}, {1, 2, 4}}, ints({3}, {2, 0, 2})},
       {{"rows", n(4)}},
       {{{4, 1}, {2, 0, 5, 0}}}},
      {"pick", "pick", {{{3, 2}, {1, 2, 3, 4, 5, 6}}, ints({3}, {1, 0, -100})}, {}, {{{3}, {2, 3, 0}}}},
      {"place", "place", {{{2}, {7, 8}}, ints({2}, {2, -100})}, {{"classes", n(3)}}, {{{2, 3}, {0, 0, 7, 0, 0, 0}}}},
      {"conv",
       "conv",
       {{{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{1, 1, 2, 2}, {1, 10, 100, 1000}}},
       {},
       {{{1, 1, 2, 2}, {5421, 6532, 8754, 9865}}}},
      {"conv_padded_stride",
       "conv",
       {{{1, 1, 4}, {1, 2, 3, 4}}, {{1, 1, 3}, {1, 10, 100}}},
       {{"strides", list({2})}, {"pads_begin", list({1})}, {"pads_end", list({1})}},
       {{{1, 1, 2}, {210, 432}}}},
      {"conv_groups", "conv", {{{1, 2, 1}, {2, 3}}, {{2, 1, 1}, {5, 7}}}, {{"groups", n(2)}}, {{{1, 2, 1}, {10, 21}}}},
      {"max_pool",
       "max_pool",
       {{{1, 1, 5}, {-1, -5, -2, -3, -9}}},
       {{"window", list({3})}, {"strides", list({2})}, {"pads_begin", list({1})}, {"pads_end", list({1})}},
       {{{1, 1, 3}, {-1, -2, -3}}}},
      {"max_pool_keeps_nan",
       "max_pool",
       {{{1, 1, 4}, {1, kNan, 3, 2}}},
       {{"window", list({2})}, {"strides", list({2})}},
       {{{1, 1, 2}, {kNan, 3}}}},
      {"max_pool_gradient_with_nan",
       "max_pool_grad",
       {{{1, 1, 6}, {1, kNan, kNan, 2, -INFINITY, -INFINITY}}, {{1, 1, 3}, {5, 7, 9}}},
       {{"window", list({2})}, {"strides", list({2})}, {"spatial", list({6})}},
       {{{1, 1, 6}, {5, 0, 7, 0, 9, 0}}}},
      {"max_pool_gradient_goes_to_the_first",
       "max_pool_grad",
       {{{1, 1, 4}, {3, 3, 3, 1}}, {{1, 1, 2}, {5, 7}}},
       {{"window", list({2})}, {"strides", list({2})}, {"spatial", list({4})}},
       {{{1, 1, 4}, {5, 0, 7, 0}}}},
      {"average_pool",
       "average_pool",
       {{{1, 1, 3}, {3, 6, 9}}},
       {{"window", list({3})}, {"pads_begin", list({1})}, {"pads_end", list({1})}},
       {{{1, 1, 3}, {4.5, 6, 7.5}}}},
      {"average_pool_counting_pad",
       "average_pool",
       {{{1, 1, 3}, {3, 6, 9}}},
       {{"window", list({3})}, {"pads_begin", list({1})}, {"pads_end", list({1})}, {"count_include_pad", n(1)}},
       {{{1, 1, 3}, {3, 6, 5}}}},
  };
  return all;
}

class OpValues : public testing::TestWithParam<Expectation> {};

TEST_P(OpValues, AreAsWorkedOut) {
  const Expectation& e = GetParam();
  Graph graph;
  GraphBuilder b(graph);
  std::vector<TensorId> operands;
  Values feeds;
  for (const Value& operand : e.operands) {
    operands.push_back(b.input("x" + std::to_string(operands.size()), operand.type, operand.shape));
    feeds[operands.back()] = Array::from(operand.type, operand.shape, operand.numbers);
  }
  Attributes attrs;
  for (const auto& [name, value] : e.attrs) attrs.set(name, value);
  const std::vector<TensorId> results = b.add(e.op, operands, attrs);
  ASSERT_EQ(results.size(), e.results.size());
  const Values all = evaluate(graph, feeds, {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Array& actual = all.at(results[i]);
    EXPECT_EQ(actual.info, (TensorInfo{e.results[i].type, e.results[i].shape}));
    for (std::size_t k = 0; k < e.results[i].numbers.size(); ++k) {
      const double expected = e.results[i].numbers[k], value = actual.at(static_cast<std::int64_t>(k));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << "element " << k;
      } else {
        EXPECT_NEAR(value, expected, 1e-6 * std::max(1.0, std::abs(expected))) << "element " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ByHand, OpValues, testing::ValuesIn(expectations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace superstep
