// SPDX-License-Identifier: Apache-2.0
// The same op in the forms of several operator sets: with attributes, and with operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

const Array kSix = floats_of({2, 3}, {1, 2, 3, 4, 5, 6});

// x [2, 3] in, y out.
FileMaker six(std::int64_t opset) {
  FileMaker file(opset);
  file.input("x", {2, 3}).output("y");
  return file;
}

std::vector<double> values_of(const FileMaker& file) { return run(file.import(), {{"x", kSix}}).values(); }
Shape shape_of(const FileMaker& file) { return run(file.import(), {{"x", kSix}}).info.shape; }

TEST(Forms, SqueezeAndUnsqueeze) {
  FileMaker older = six(11);
  older.node("Unsqueeze", {"x"}, {"a"}).set("axes", Extents{0, 3});
  older.node("Squeeze", {"a"}, {"y"}).set("axes", Extents{0});
  EXPECT_EQ(shape_of(older), (Shape{2, 3, 1}));
  FileMaker newer = six(13);
  newer.integers("ends", {2}, {0, -1}).integers("front", {1}, {0});
  newer.node("Unsqueeze", {"x", "ends"}, {"a"});
  newer.node("Squeeze", {"a", "front"}, {"y"});
  EXPECT_EQ(shape_of(newer), (Shape{2, 3, 1}));
}

TEST(Forms, ReduceSum) {
  FileMaker older = six(11);
  older.node("ReduceSum", {"x"}, {"y"}).set("axes", Extents{1}).set("keepdims", 0);
  EXPECT_THAT(values_of(older), ElementsAre(6, 15));
  FileMaker newer = six(13);
  newer.integers("axes", {1}, {-1});
  newer.node("ReduceSum", {"x", "axes"}, {"y"}).set("keepdims", 0);
  EXPECT_THAT(values_of(newer), ElementsAre(6, 15));
  FileMaker nothing = six(13);
  nothing.node("ReduceSum", {"x"}, {"y"}).set("noop_with_empty_axes", 1);
  EXPECT_THAT(values_of(nothing), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Forms, ReduceMeanTakesAxesAsOperandSince18) {
  FileMaker older = six(17);
  older.node("ReduceMean", {"x"}, {"y"}).set("axes", Extents{0}).set("keepdims", 0);
  EXPECT_THAT(values_of(older), ElementsAre(2.5, 3.5, 4.5));
  FileMaker newer = six(18);
  newer.integers("axes", {1}, {0});
  newer.node("ReduceMean", {"x", "axes"}, {"y"}).set("keepdims", 0);
  EXPECT_THAT(values_of(newer), ElementsAre(2.5, 3.5, 4.5));
}

TEST(Forms, Split) {
  FileMaker older = six(11);
  older.node("Split", {"x"}, {"a", "y"}).set("axis", 1).set("split", Extents{1, 2});
  EXPECT_THAT(values_of(older), ElementsAre(2, 3, 5, 6));
  FileMaker newer = six(13);
  newer.integers("sizes", {2}, {1, 2});
  newer.node("Split", {"x", "sizes"}, {"a", "y"}).set("axis", 1);
  EXPECT_THAT(values_of(newer), ElementsAre(2, 3, 5, 6));
  FileMaker uneven = six(18);
  uneven.node("Split", {"x"}, {"a", "y"}).set("axis", 1).set("num_outputs", 2);
  EXPECT_THAT(values_of(uneven), ElementsAre(3, 6));
}

TEST(Forms, Clip) {
  FileMaker older = six(6);
  older.node("Clip", {"x"}, {"y"}).set("min", 2.0f).set("max", 4.0f);
  EXPECT_THAT(values_of(older), ElementsAre(2, 2, 3, 4, 4, 4));
  FileMaker newer = six(11);
  newer.floats("high", {}, {4});
  newer.node("Clip", {"x", "", "high"}, {"y"});
  EXPECT_THAT(values_of(newer), ElementsAre(1, 2, 3, 4, 4, 4));
}

TEST(Forms, Slice) {
  FileMaker older = six(9);
  older.node("Slice", {"x"}, {"y"}).set("starts", Extents{1}).set("ends", Extents{1000}).set("axes", Extents{1});
  EXPECT_THAT(values_of(older), ElementsAre(2, 3, 5, 6));
  FileMaker newer = six(10);
  newer.integers("from", {1}, {-1}).integers("to", {1}, {-1000}).integers("axis", {1}, {1}).integers("step", {1}, {-2});
  newer.node("Slice", {"x", "from", "to", "axis", "step"}, {"y"});
  EXPECT_THAT(values_of(newer), ElementsAre(3, 1, 6, 4));
  FileMaker endless = six(13);
  endless.integers("from", {1}, {1}).integers("to", {1}, {INT64_MAX}).integers("axis", {1}, {-1});
  endless.node("Slice", {"x", "from", "to", "axis"}, {"y"});
  EXPECT_THAT(values_of(endless), ElementsAre(2, 3, 5, 6));
}

TEST(Forms, Pad) {
  FileMaker older = six(10);
  older.node("Pad", {"x"}, {"y"}).set("pads", Extents{0, 1, 0, 0}).set("value", 9.0f);
  EXPECT_THAT(values_of(older), ElementsAre(9, 1, 2, 3, 9, 4, 5, 6));
  FileMaker newer = six(11);
  newer.integers("pads", {4}, {0, 1, 0, 0}).floats("value", {}, {9});
  newer.node("Pad", {"x", "pads", "value"}, {"y"});
  EXPECT_THAT(values_of(newer), ElementsAre(9, 1, 2, 3, 9, 4, 5, 6));
  FileMaker mirrored = six(11);
  mirrored.integers("pads", {4}, {0, 2, 0, 0});
  mirrored.node("Pad", {"x", "pads"}, {"y"}).set("mode", "reflect");
  EXPECT_THAT(values_of(mirrored), ElementsAre(3, 2, 1, 2, 3, 6, 5, 4, 5, 6));
}

TEST(Forms, DropoutInInferenceIsNothing) {
  FileMaker older = six(7);
  older.node("Dropout", {"x"}, {"y"}).set("ratio", 0.5f);
  EXPECT_EQ(older.import().graph.ops.size(), 0u);
  FileMaker newer = six(13);
  newer.floats("ratio", {}, {0.5});
  newer.node("Dropout", {"x", "ratio"}, {"y"});
  EXPECT_EQ(newer.import().graph.ops.size(), 0u);
}

TEST(Forms, DropoutInTrainingDrops) {
  FileMaker file = six(13);
  file.floats("ratio", {}, {0.25});
  onnx_file::TensorProto on;
  on.set_data_type(kBool);
  on.add_int32_data(1);
  file.node("Constant", {}, {"on"}).set("value", on);
  file.node("Dropout", {"x", "ratio", "on"}, {"y"});
  const ImportResult result = file.import();
  ASSERT_EQ(result.graph.ops.size(), 1u);
  EXPECT_EQ(result.graph.ops[OpId(0)].def->name, "dropout");
  EXPECT_EQ(result.graph.ops[OpId(0)].attrs.number("ratio"), 0.25);
}

TEST(Forms, BroadcastingByAttributeBeforeOperatorSet7) {
  FileMaker file = six(6);
  file.floats("column", {2}, {10, 20});
  file.node("Add", {"x", "column"}, {"y"}).set("broadcast", 1).set("axis", 0);
  EXPECT_THAT(values_of(file), ElementsAre(11, 12, 13, 24, 25, 26));
}

// Softmax: before operator set 13 over all dimensions from axis 1 on, then over one axis, the last.

std::vector<double> softmax_rows(const std::vector<double>& x, std::size_t width) {
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double sum = 0;
    for (std::size_t i = row; i < row + width; ++i) sum += std::exp(x[i]);
    for (std::size_t i = row; i < row + width; ++i) y[i] = std::exp(x[i]) / sum;
  }
  return y;
}

class SoftmaxForm : public ::testing::TestWithParam<std::pair<std::int64_t, std::size_t>> {};  // opset, width

TEST_P(SoftmaxForm, NormalisesOverWhatItsOperatorSetSays) {
  const auto [opset, width] = GetParam();
  FileMaker file(opset);
  file.input("x", {2, 3, 4}).output("y").output("log");
  file.node("Softmax", {"x"}, {"y"});
  file.node("LogSoftmax", {"x"}, {"log"});
  const Array x = floats_of({2, 3, 4}, numbers(24, 5));
  const std::vector<double> expected = softmax_rows(x.values(), width);
  const ImportResult result = file.import();
  const Array y = run(result, {{"x", x}}), log = run(result, {{"x", x}}, "log");
  EXPECT_EQ(y.info.shape, (Shape{2, 3, 4}));
  for (std::int64_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(y.at(i), expected[static_cast<std::size_t>(i)], 1e-6);
    EXPECT_NEAR(log.at(i), std::log(expected[static_cast<std::size_t>(i)]), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(OperatorSets, SoftmaxForm,
                         ::testing::Values(std::pair{7, 12u}, std::pair{11, 12u}, std::pair{12, 12u}, std::pair{13, 4u},
                                           std::pair{17, 4u}));

TEST(Forms, NewerOperatorSetsAreTakenWhileTheFormIsKnown) {
  FileMaker file = six(23);
  file.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(values_of(file), ElementsAre(1, 2, 3, 4, 5, 6));
  FileMaker changed = six(23);
  changed.node("Relu", {"x"}, {"y"}).set("novelty", 1);
  const ImportResult result = changed.import();
  ASSERT_EQ(result.unsupported.size(), 1u);
  EXPECT_EQ(result.unsupported[0].why, "attribute \"novelty\" is not understood");
}

// Sequences of tensors are lists that only the importer knows.

TEST(Sequences, PartsAreTakenOutAndPutTogether) {
  FileMaker file = six(17);
  file.integers("one", {}, {1}).integers("last", {}, {-1});
  file.node("SplitToSequence", {"x", "one"}, {"columns"}).set("axis", 1);
  file.node("SequenceAt", {"columns", "last"}, {"third"});
  file.node("SequenceErase", {"columns"}, {"two"});
  file.node("SequenceInsert", {"two", "third", "one"}, {"three"});
  file.node("ConcatFromSequence", {"three"}, {"y"}).set("axis", 1);
  EXPECT_THAT(values_of(file), ElementsAre(1, 3, 2, 4, 6, 5));
}

TEST(Sequences, AreNotTensors) {
  FileMaker file = six(17);
  file.node("SequenceConstruct", {"x", "x"}, {"pair"});
  file.node("Relu", {"pair"}, {"y"}, "wrong");
  const ImportResult result = file.import();
  ASSERT_EQ(result.unsupported.size(), 1u);
  EXPECT_EQ(result.unsupported[0].name, "wrong");
}

TEST(Sequences, APositionOutsideIsAnError) {
  FileMaker file = six(17);
  file.integers("two", {}, {2});
  file.node("SequenceConstruct", {"x", "x"}, {"pair"});
  file.node("SequenceAt", {"pair", "two"}, {"y"});
  EXPECT_THROW(file.import(), Error);
}

// Einstein sums become products.

TEST(Einsum, SumsWhatNobodyReadsAndOrdersTheRest) {
  FileMaker file = six(17);
  file.node("Einsum", {"x", "x"}, {"y"}).set("equation", "ij,kj->ki");
  EXPECT_THAT(values_of(file), ElementsAre(14, 32, 32, 77));
  FileMaker all = six(17);
  all.node("Einsum", {"x"}, {"y"}).set("equation", "i j ->");
  EXPECT_THAT(values_of(all), ElementsAre(21));
  FileMaker three = six(17);
  three.floats("w", {3}, {1, 0, 2});
  three.node("Einsum", {"x", "x", "w"}, {"y"}).set("equation", "ab,cb,b->ac");
  EXPECT_THAT(values_of(three), ElementsAre(1 + 18, 4 + 36, 4 + 36, 16 + 72));
}

// Shape arithmetic disappears.

TEST(Folding, ShapeSubgraphsAreEvaluated) {
  FileMaker file(17);
  file.input("x", {-1, 6}).output("y").integers("zero", {}, {0}).integers("three", {1}, {3}).integers("axes", {1}, {0});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "zero"}, {"batch"});
  file.node("Unsqueeze", {"batch", "axes"}, {"batch1"});
  file.node("Concat", {"batch1", "three", "rest"}, {"target"}).set("axis", 0);
  file.node("Constant", {}, {"rest"}).set("value", integer_tensor("", {1}, {-1}));
  file.node("Reshape", {"x", "target"}, {"y"});
  const ImportResult result = file.import({.micro_batch = 5});
  EXPECT_EQ(result.graph.ops.size(), 1u);
  EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{5, 3, 2}));
}

TEST(Folding, RangeConstantOfShapeAndExpand) {
  FileMaker file(17);
  file.input("x", {4, 3}).output("y").integers("zero", {}, {0}).integers("one", {}, {1});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "one"}, {"columns"});
  file.node("Range", {"zero", "columns", "one"}, {"places"});
  file.node("ConstantOfShape", {"shape"}, {"twos"}).set("value", integer_tensor("", {1}, {2}));
  file.node("Mul", {"places", "twos"}, {"even"});
  file.node("Cast", {"even"}, {"offsets"}).set("to", kFloat);
  file.node("Add", {"x", "offsets"}, {"y"});
  const ImportResult result = file.import();
  EXPECT_EQ(result.graph.ops.size(), 1u);
  const Array y = run(result, {{"x", floats_of({4, 3}, std::vector<float>(12, 1))}});
  EXPECT_THAT(y.values(), ElementsAreArray({1, 3, 5, 1, 3, 5, 1, 3, 5, 1, 3, 5}));
}

TEST(Folding, ATransposedWeightBecomesAFlagOfTheProduct) {
  FileMaker file(17);
  file.input("x", {2, 3}).output("y").floats("w", {4, 3}, numbers(12, 2));
  file.node("Transpose", {"w"}, {"wt"}).set("perm", Extents{1, 0});
  file.node("MatMul", {"x", "wt"}, {"y"});
  const ImportResult result = file.import();
  ASSERT_EQ(result.graph.ops.size(), 1u);
  EXPECT_EQ(result.graph.ops[OpId(0)].attrs.integer("transpose_b"), 1);
}

TEST(Folding, KnownNumbersBecomeAttributes) {
  FileMaker file = six(17);
  file.floats("onnx::Div_4", {}, {4}).floats("two", {}, {2});
  file.node("Div", {"x", "onnx::Div_4"}, {"a"});
  file.node("Pow", {"a", "two"}, {"b"});
  file.node("Sub", {"two", "b"}, {"y"});
  const ImportResult result = file.import();
  for (const Op& op : result.graph.ops) EXPECT_EQ(op.inputs.size(), 1u) << op.name;
  EXPECT_THAT(values_of(file), ElementsAre(2 - 1 / 16.0, 2 - 4 / 16.0, 2 - 9 / 16.0, 1, 2 - 25 / 16.0, 2 - 36 / 16.0));
}

}  // namespace
}  // namespace superstep::test
