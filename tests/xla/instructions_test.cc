// SPDX-License-Identifier: Apache-2.0
// Single instructions, against values worked out from what XLA says of them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/onnx/onnx_file_maker.h"
#include "tests/xla/hlo_maker.h"

namespace superstep::test {
namespace {

using namespace xla_import;

std::vector<double> values_of(const Array& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.info.elements(); ++i) values.push_back(array.at(i));
  return values;
}

// The program's first output; inputs by the names of the parameters.
std::vector<double> values(const ProgramMaker& p, const std::map<std::string, Array>& inputs) {
  return values_of(run(p.import(), inputs));
}

Array integers32(const Extents& shape, const std::vector<double>& numbers) {
  return Array::from(DType::int32, shape, numbers);
}

std::vector<float> counted(std::int64_t n) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(i));
  return out;
}

// x [3, 4] of 0, 1, ..., 11.
Array table() { return floats_of({3, 4}, counted(12)); }

TEST(XlaInstruction, FunctionsOfOneNumber) {
  struct Case {
    const char* opcode;
    double (*expected)(double);
  };
  const Case cases[] = {{"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                        {"exponential-minus-one", [](double x) { return std::expm1(x); }},
                        {"log-plus-one", [](double x) { return std::log1p(x); }},
                        {"cbrt", [](double x) { return std::cbrt(x); }},
                        {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
                        {"round-nearest-even", [](double x) { return std::nearbyint(x); }},
                        {"negate", [](double x) { return -x; }}};
  for (const Case& c : cases) {
    ProgramMaker p;
    p.add(c.opcode, {3}, {p.parameter({3}, "x")});
    const std::vector<double> found = values(p, {{"x", floats_of({3}, {0.5F, 2.5F, 3})}});
    EXPECT_NEAR(found[0], c.expected(0.5), 2e-6) << c.opcode;
    EXPECT_NEAR(found[1], c.expected(2.5), 2e-6) << c.opcode;
  }
}

TEST(XlaInstruction, IsFiniteTellsInfinityAndNoNumber) {
  ProgramMaker p;
  p.add("is-finite", {3}, {p.parameter({3}, "x")}, kPred);
  EXPECT_EQ(values(p, {{"x", floats_of({3}, {1, HUGE_VALF, NAN})}}), (std::vector<double>{1, 0, 0}));
}

TEST(XlaInstruction, ConstantsAreReadInTheirLayout) {
  ProgramMaker p;
  const Made x = p.parameter({2, 3}, "x"), c = p.floats({2, 3}, {1, 4, 2, 5, 3, 6});
  for (std::int64_t d : {0, 1}) c->mutable_literal()->mutable_shape()->mutable_layout()->add_minor_to_major(d);
  p.add("add", {2, 3}, {x, c});
  EXPECT_EQ(values(p, {{"x", floats_of({2, 3}, {0, 0, 0, 0, 0, 0})}}), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(XlaInstruction, SlicesHaveStridesAndReverseTurns) {
  ProgramMaker p;
  const Made x = p.parameter({3, 4}, "x"), s = p.add("slice", {2, 2}, {x});
  for (std::int64_t limit : {3, 4}) {
    auto& d = *s->add_slice_dimensions();
    d.set_start(limit - 3);
    d.set_limit(limit);
    d.set_stride(2);
  }
  p.add("reverse", {2, 2}, {s})->add_dimensions(1);
  EXPECT_EQ(values(p, {{"x", table()}}), (std::vector<double>{3, 1, 11, 9}));
}

TEST(XlaInstruction, PadsMayBeNegative) {
  ProgramMaker p;
  const Made x = p.parameter({3, 4}, "x"), y = p.add("pad", {4, 2}, {x, p.number(7)});
  y->mutable_padding_config()->add_dimensions()->set_edge_padding_high(1);
  auto& d = *y->mutable_padding_config()->add_dimensions();
  d.set_edge_padding_low(-1);
  d.set_edge_padding_high(-1);
  EXPECT_EQ(values(p, {{"x", table()}}), (std::vector<double>{1, 2, 5, 6, 9, 10, 7, 7}));
}

TEST(XlaInstruction, ReductionsStartFromTheirNumber) {
  ProgramMaker p;
  p.reduce("maximum", p.parameter({3, 4}, "x"), 5, {1});
  EXPECT_EQ(values(p, {{"x", table()}}), (std::vector<double>{5, 7, 11}));
}

TEST(XlaInstruction, TwoOperandsReducedByAComparisonAreTheArgumentOfTheMaximum) {
  ProgramMaker p;
  p.begin("larger");
  const Made a = p.parameter({}), i = p.parameter({}, "", kS32), b = p.parameter({}), j = p.parameter({}, "", kS32);
  const Made first = p.compare(a, b, "GT");
  p.tuple({p.add("select", {}, {first, a, b}), p.add("select", {}, {first, i, j}, kS32)});
  const std::int64_t larger = p.end();
  const Made x = p.parameter({2, 3}, "x"), places = p.add("iota", {2, 3}, {}, kS32);
  places->add_dimensions(1);
  const Made r = p.add("reduce", {}, {x, places, p.number(-HUGE_VALF), p.integers({}, {0})}, kTuple);
  r->add_dimensions(1);
  r->add_called_computation_ids(larger);
  *r->mutable_shape()->add_tuple_shapes() = p.add("abs", {2}, {x})->shape();
  *r->mutable_shape()->add_tuple_shapes() = p.add("abs", {2}, {x}, kS32)->shape();
  p.element(r, 1);
  EXPECT_EQ(values(p, {{"x", floats_of({2, 3}, {1, 5, 2, 9, 3, 4})}}), (std::vector<double>{1, 0}));
}

Made gather(ProgramMaker& p, Made x, Made at, const Extents& shape, const Extents& sizes) {
  Made in = p.add("gather", shape, {x, at});
  in->mutable_gather_slice_sizes()->Add(sizes.begin(), sizes.end());
  return in;
}

TEST(XlaInstruction, GathersAlongOneDimension) {
  ProgramMaker p;
  const Made x = p.parameter({3, 4}, "x"), at = p.parameter({2, 1}, "at", kS32);
  auto& n = *gather(p, x, at, {3, 2}, {3, 1})->mutable_gather_dimension_numbers();  // x[:, at]
  n.add_offset_dims(0);
  n.add_collapsed_slice_dims(1);
  n.add_start_index_map(1);
  n.set_index_vector_dim(1);
  // 9 is outside: the last one.
  EXPECT_EQ(values(p, {{"x", table()}, {"at", integers32({2, 1}, {9, 1})}}), (std::vector<double>{3, 1, 7, 5, 11, 9}));
}

TEST(XlaInstruction, GathersSingleElements) {
  ProgramMaker p;
  const Made x = p.parameter({3, 4}, "x"), at = p.parameter({2, 2}, "at", kS32);
  auto& n = *gather(p, x, at, {2}, {1, 1})->mutable_gather_dimension_numbers();  // x[at[1], at[0]]
  n.add_collapsed_slice_dims(0), n.add_collapsed_slice_dims(1);
  n.add_start_index_map(1), n.add_start_index_map(0);
  n.set_index_vector_dim(1);
  EXPECT_EQ(values(p, {{"x", table()}, {"at", integers32({2, 2}, {3, 1, 0, 2})}}), (std::vector<double>{7, 8}));
}

TEST(XlaInstruction, GathersRowByRow) {
  ProgramMaker p;
  const Made x = p.parameter({3, 4}, "x"), at = p.parameter({3, 2, 1}, "at", kS32);
  auto& n = *gather(p, x, at, {3, 2}, {1, 1})->mutable_gather_dimension_numbers();  // take_along_axis(x, at, 1)
  n.add_collapsed_slice_dims(1);
  n.add_start_index_map(1);
  n.add_operand_batching_dims(0);
  n.add_start_indices_batching_dims(0);
  n.set_index_vector_dim(2);
  EXPECT_EQ(values(p, {{"x", table()}, {"at", integers32({3, 2, 1}, {0, 3, 1, 1, 2, 0})}}),
            (std::vector<double>{0, 3, 5, 5, 10, 8}));
}

TEST(XlaInstruction, ScattersSums) {
  ProgramMaker p;
  p.begin("sum");
  const Made a = p.parameter({}), b = p.parameter({});
  p.add("add", {}, {a, b});
  const std::int64_t sum = p.end();
  const Made x = p.parameter({3, 2}, "x"), at = p.parameter({3, 1}, "at", kS32), u = p.parameter({3, 2}, "u");
  const Made s = p.add("scatter", {3, 2}, {x, at, u});
  s->add_called_computation_ids(sum);
  auto& n = *s->mutable_scatter_dimension_numbers();
  n.add_update_window_dims(1);
  n.add_inserted_window_dims(0);
  n.add_scatter_dims_to_operand_dims(0);
  n.set_index_vector_dim(1);
  const std::map<std::string, Array> inputs = {{"x", floats_of({3, 2}, {0, 0, 0, 0, 0, 1})},
                                               {"at", integers32({3, 1}, {2, 0, 2})},
                                               {"u", floats_of({3, 2}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(values(p, inputs), (std::vector<double>{3, 4, 0, 0, 6, 9}));
}

TEST(XlaInstruction, DynamicSlicesAndUpdatesStayInside) {
  for (double start : {1.0, 3.0}) {  // the latter is moved to 2
    ProgramMaker p;
    const Made x = p.parameter({3, 4}, "x"), at = p.parameter({}, "at", kS32), zero = p.integers({}, {0});
    const Made s = p.add("dynamic-slice", {3, 2}, {x, zero, at});
    s->add_dynamic_slice_sizes(3), s->add_dynamic_slice_sizes(2);
    const Made u = p.add("dynamic-update-slice", {3, 4}, {x, p.add("negate", {3, 2}, {s}), zero, at});
    (void)u;
    std::vector<double> expected = values_of(table());
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < 2; ++i) expected[row * 4 + static_cast<std::size_t>(std::min(start, 2.0)) + i] *= -1;
    EXPECT_EQ(values(p, {{"x", table()}, {"at", integers32({}, {start})}}), expected);
  }
}

TEST(XlaInstruction, ConvolutionsSpreadTheirOperand) {
  // [1, 2, 3] spread to [1, 0, 2, 0, 3], padded by (2, 1), by the window [1, 10, 100]:
  // 0 0 1 0 2 0 3 0 -> 100, 10, 201, 20, 302, 30
  ProgramMaker p;
  const Made x = p.parameter({1, 3, 1}, "x"),
             c = p.add("convolution", {1, 6, 1}, {x, p.floats({3, 1, 1}, {1, 10, 100})});
  auto& d = *c->mutable_window()->add_dimensions();
  d.set_size(3), d.set_stride(1), d.set_padding_low(2), d.set_padding_high(1), d.set_window_dilation(1),
      d.set_base_dilation(2);
  auto& n = *c->mutable_convolution_dimension_numbers();
  n.set_input_feature_dimension(2), n.set_output_feature_dimension(2), n.set_kernel_input_feature_dimension(1);
  n.set_kernel_output_feature_dimension(2);
  n.add_input_spatial_dimensions(1), n.add_output_spatial_dimensions(1), n.add_kernel_spatial_dimensions(0);
  EXPECT_EQ(values(p, {{"x", floats_of({1, 3, 1}, {1, 2, 3})}}), (std::vector<double>{100, 10, 201, 20, 302, 30}));
}

TEST(XlaInstruction, BatchNormTakesItsFeatureDimension) {
  ProgramMaker p;
  const Made x = p.parameter({2, 1, 2}, "x"), scale = p.floats({2}, {2, 1}), offset = p.floats({2}, {0, 1}),
             mean = p.floats({2}, {1, 2}), variance = p.floats({2}, {4, 1});
  p.add("batch-norm-inference", {2, 1, 2}, {x, scale, offset, mean, variance})->set_feature_index(2);
  EXPECT_EQ(values(p, {{"x", floats_of({2, 1, 2}, {1, 2, 5, 4})}}), (std::vector<double>{0, 1, 4, 3}));
}

// while (i < 3) { i += 1; x = x + x } of the tuple (i, x).
ProgramMaker loop(Made (*limit)(ProgramMaker&)) {
  ProgramMaker p;
  const auto state = [&] {
    const Made in = p.add("parameter", {}, {}, kTuple);
    in->mutable_shape()->add_tuple_shapes()->set_element_type(kS32);
    auto& x = *in->mutable_shape()->add_tuple_shapes();
    x.set_element_type(kF32);
    x.add_dimensions(2);
    return in;
  };
  p.begin("body");
  const Made s = state(), i = p.element(s, 0), x = p.element(s, 1);
  p.tuple({p.add("add", {}, {i, p.integers({}, {1})}, kS32), p.add("add", {2}, {x, x})});
  const std::int64_t body = p.end();
  p.begin("condition");
  const Made c = p.element(state(), 0);
  p.compare(c, limit(p), "LT");
  const std::int64_t condition = p.end();
  const Made start = p.tuple({p.integers({}, {0}), p.parameter({2}, "x")});
  const Made w = p.add("while", {}, {start}, kTuple);
  *w->mutable_shape() = start->shape();
  w->add_called_computation_ids(body);
  w->add_called_computation_ids(condition);
  p.element(w, 1);
  return p;
}

TEST(XlaInstruction, LoopsOfKnownLengthAreWrittenOut) {
  const ProgramMaker p = loop([](ProgramMaker& m) { return m.integers({}, {3}); });
  EXPECT_EQ(values(p, {{"x", floats_of({2}, {1, 2})}}), (std::vector<double>{8, 16}));
}

TEST(XlaInstruction, CallsAreWrittenOut) {
  ProgramMaker p;
  p.begin("twice");
  const Made a = p.parameter({2});
  p.tuple({p.add("add", {2}, {a, a})});
  const std::int64_t twice = p.end();
  Made x = p.parameter({2}, "x");
  for (int i = 0; i < 2; ++i) {
    const Made call = p.add("call", {}, {x}, kTuple);
    *call->mutable_shape()->add_tuple_shapes() = x->shape();
    call->add_called_computation_ids(twice);
    x = p.element(call, 0);
  }
  EXPECT_EQ(values(p, {{"x", floats_of({2}, {1, 2})}}), (std::vector<double>{4, 8}));
}

TEST(XlaInstruction, ShardingAnnotationsPassThrough) {
  ProgramMaker p;
  const Made x = p.parameter({2}, "x"), s = p.add("custom-call", {2}, {x});
  s->set_custom_call_target("Sharding");
  p.add("negate", {2}, {s});
  EXPECT_EQ(values(p, {{"x", floats_of({2}, {1, 2})}}), (std::vector<double>{-1, -2}));
}

TEST(XlaInstruction, UnlabelledParametersAreInputsUnlessPatternsNameThem) {
  ProgramMaker p;
  const Made x = p.parameter({2, 3}), w = p.parameter({3, 4});
  p.matmul(x, w);
  EXPECT_EQ(p.import().graph.inputs.size(), 2U);
  const ImportResult named = p.import({.weights = {w->name()}});
  EXPECT_EQ(named.graph.inputs.size(), 1U);
  EXPECT_EQ(named.graph.parameters(), 12);
  auto& alias = *p.module.mutable_input_output_alias()->add_entries();
  alias.set_parameter_number(1);  // donated
  EXPECT_EQ(p.import().graph.parameters(), 12);
}

}  // namespace
}  // namespace superstep::test
