// SPDX-License-Identifier: Apache-2.0
// What becomes of inputs, weights, constants and outputs.
#include "model/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = relu(x w + b), x [batch, 3]
FileMaker layer(std::int64_t batch) {
  FileMaker file;
  file.input("x", {batch, 3}).output("y");
  file.floats("w", {3, 2}, {1, -1, 2, -2, 3, -3}).floats("b", {2}, {0.5, 0.25});
  file.node("MatMul", {"x", "w"}, {"p"}, "/net/dense/MatMul");
  file.node("Add", {"p", "b"}, {"s"}, "/net/dense/Add");
  file.node("Relu", {"s"}, {"y"}, "/net/Relu");
  return file;
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) names.emplace_back(op.def->name);
  return names;
}

TEST(Import, TellsWhatTheFileIs) {
  const ImportResult result = layer(4).import();
  EXPECT_EQ(result.producer, "tests");
  EXPECT_EQ(result.opsets.at(""), 17);
  EXPECT_EQ(result.op_counts.at("MatMul"), 1);
  EXPECT_THAT(result.outputs, ElementsAre("y"));
  EXPECT_EQ(result.graph.name, "made");
}

TEST(Import, ComputesWhatTheNodesSay) {
  const Array y = run(layer(2).import(), {{"x", floats_of({2, 3}, {1, 1, 1, -1, 0, 0})}});
  EXPECT_THAT(y.values(), ElementsAre(6.5, 0, 0, 1.25));
}

TEST(Import, FloatInitializersAreWeightsUnderTheirNames) {
  const ImportResult result = layer(4).import();
  const Tensor& w = result.graph.tensors[result.names.at("w")];
  EXPECT_EQ(w.kind, TensorKind::weight);
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.data->at(5), -3);
  EXPECT_EQ(result.graph.parameters(), 8);
}

// Names that exporters and optimisers make up, and numbers that several nodes read.
TEST(Import, NumbersOfTheNetworksCodeAndIntegersAreConstants) {
  FileMaker file = layer(4);
  file.integers("shape", {1}, {-1}).floats("two", {}, {2}).output("flat").output("powers");
  std::string before = "y";
  for (const std::string name : {"onnx::Mul_7", "31", "/scale/Constant_output_0", "const_fold_opt__3", "val_12"}) {
    file.floats(name, {1}, {0.5}).node("Mul", {before, name}, {"by " + name});
    before = "by " + name;
  }
  file.node("Reshape", {before, "shape"}, {"flat"});
  file.node("Pow", {before, "two"}, {"squares"});
  file.node("Pow", {"squares", "two"}, {"powers"});
  const ImportResult result = file.import();
  EXPECT_EQ(result.graph.parameters(), 8);
  EXPECT_EQ(result.graph.info(result.names.at("flat")).shape, Shape{8});
}

TEST(Import, ASingleNumberOfItsOwnNameIsAParameter) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    FileMaker file = layer(4);
    file.floats("logit_scale", {}, {2}).output("out");
    file.node(op, {"y", "logit_scale"}, {"out"});
    const ImportResult result = file.import();
    EXPECT_EQ(result.graph.parameters(), 9) << op;
    EXPECT_FALSE(result.graph.tensors[result.names.at("logit_scale")].frozen);
  }
}

TEST(Import, FrozenWeightsAreThoseOfThePatternsAndOfTheTrainingInformation) {
  const auto frozen = [](const ImportResult& r, const char* name) { return r.graph.tensors[r.names.at(name)].frozen; };
  const ImportResult by_name = layer(4).import({.frozen = {"b*"}});
  EXPECT_TRUE(frozen(by_name, "b"));
  EXPECT_FALSE(frozen(by_name, "w"));
  EXPECT_EQ(by_name.graph.parameters(), 8);
  FileMaker told = layer(4);
  told.model.add_training_info()->add_update_binding()->set_key("b");
  EXPECT_TRUE(frozen(told.import(), "w"));
  EXPECT_FALSE(frozen(told.import(), "b"));
  EXPECT_THAT(
      [] { layer(4).import({.frozen = {"backbone.*"}}); },
      testing::ThrowsMessage<Error>(testing::HasSubstr("\"backbone.*\" is the name of no weight; some are \"b\"")));
}

// An int8 matrix weighs a byte for each element, and is multiplied by its scale where it is used.
TEST(Import, QuantisedWeightsStayInTheirType) {
  FileMaker file;
  onnx_file::TensorProto w;
  w.set_name("w"), w.set_data_type(3), w.add_dims(3), w.add_dims(2);  // int8
  for (const int v : {1, -2, 3, -4, 5, -6}) w.add_int32_data(v);
  *file.model.mutable_graph()->add_initializer() = w;
  file.input("x", {-1, 3}).output("y").floats("scale", {}, {0.5});
  file.node("DequantizeLinear", {"w", "scale"}, {"real"});
  file.node("MatMul", {"x", "real"}, {"y"});
  const ImportResult result = file.import();
  const Tensor& weight = result.graph.tensors[result.names.at("w")];
  EXPECT_EQ(weight.kind, TensorKind::weight);
  EXPECT_EQ(weight.info, (TensorInfo{DType::int8, {3, 2}}));
  EXPECT_TRUE(weight.frozen);
  EXPECT_EQ(result.graph.parameters(), 6);  // the scale is none
  const Array y = run(result, {{"x", floats_of({1, 3}, {1, 1, 1})}});
  EXPECT_THAT(y.values(), ElementsAre(4.5, -6));
}

// Whatever operand an op must know: it may be a Constant node's or an initializer.
TEST(Import, OperandsToKnowMayBeInitializers) {
  FileMaker file(13);
  file.input("x", {-1, 3, 4, 4}).output("y").floats("s", {4}, {1, 1, 2, 2});
  file.node("Resize", {"x", "", "s"}, {"y"}).set("mode", "nearest");
  const ImportResult result = file.import({.read_weights = false});
  EXPECT_TRUE(result.unsupported.empty());
  EXPECT_EQ(result.graph.parameters(), 0);
  EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{1, 3, 8, 8}));
}

TEST(Import, OpenDimensionsHaveTheValuesThatAreGiven) {
  FileMaker file;
  file.input("x", {-1, -2, 3}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_EQ(file.import({.dimensions = {{"sequence", 7}}}).graph.info(TensorId(0)).shape, (Shape{1, 7, 3}));
  const ImportResult four = file.import({.dimensions = {{"sequence", 7}, {"batch", 4}}});
  EXPECT_EQ(four.graph.info(TensorId(0)).shape, (Shape{4, 7, 3}));
  EXPECT_EQ(four.samples, 4);
  const ImportResult two = file.import({.micro_batch = 2, .dimensions = {{"sequence", 7}, {"batch", 4}}});
  EXPECT_EQ(two.graph.info(TensorId(0)).shape, (Shape{2, 7, 3}));
  EXPECT_THAT(
      [&] {
        file.import({.dimensions = {{"sequence", 7}, {"width", 4}}});
      },
      testing::ThrowsMessage<Error>(
          testing::HasSubstr("no open dimension is called \"width\"; found \"batch\", \"sequence\"")));
}

TEST(Import, ASingleNumberThatALayerTrainsIsAWeight) {
  FileMaker file;
  file.input("x", {4, 3}).output("y").floats("w", {3, 1}, {1, 2, 3}).floats("b", {1}, {1});
  file.node("Gemm", {"x", "w", "b"}, {"y"});
  EXPECT_EQ(file.import().graph.parameters(), 4);
}

TEST(Import, WeightsNobodyReadsAreLeftOut) {
  FileMaker file = layer(4);
  file.floats("left_over", {100}, std::vector<float>(100));
  EXPECT_EQ(file.import().graph.parameters(), 8);
}

TEST(Import, OpsWithoutAnEffectOnTheOutputsAreLeftOut) {
  FileMaker file = layer(4);
  file.node("Exp", {"y"}, {"unused"});
  EXPECT_THAT(op_names(file.import().graph), ElementsAre("matmul", "add", "relu"));
}

TEST(Import, OpsAndResultsKeepTheNamesOfTheFile) {
  const ImportResult result = layer(4).import();
  EXPECT_EQ(result.graph.ops[OpId(0)].name, "net/dense/MatMul");
  EXPECT_EQ(result.graph.tensors[result.names.at("p")].name, "p");
}

TEST(Import, PrecisionChangesFloatingTensorsAndNoOthers) {
  FileMaker file;
  file.input("ids", {4}, kInt64).output("y").floats("table", {5, 2}, numbers(10, 1));
  file.node("Gather", {"table", "ids"}, {"y"});
  const ImportResult half = file.import({.precision = DType::fp16});
  EXPECT_EQ(half.graph.info(half.names.at("table")).type, DType::fp16);
  EXPECT_EQ(half.graph.info(half.names.at("y")).type, DType::fp16);
  EXPECT_EQ(half.graph.info(half.names.at("ids")).type, DType::int64);
  const ImportResult kept = file.import({.precision = DType::fp16, .keep_types = true});
  EXPECT_EQ(kept.graph.info(kept.names.at("table")).type, DType::fp32);
}

TEST(Import, ConstantsThatHalfCannotHoldBecomeItsLargest) {
  FileMaker file;
  file.input("x", {4}).output("y").floats("masked", {4}, {-3.4e38f, 1, 2, 3});
  file.node("Constant", {}, {"low"}).set("value", float_tensor("", {4}, {-3.4e38f, 1, 2, 3}));
  file.node("Add", {"x", "low"}, {"y"});
  const ImportResult result = file.import({.precision = DType::fp16});
  EXPECT_EQ(result.graph.tensors[result.names.at("low")].data->at(0), -65504);
}

TEST(Import, BatchOfTheFileIsTheMicroBatch) {
  EXPECT_EQ(layer(4).import().graph.micro_batch, 4);
  EXPECT_EQ(layer(-1).import().graph.micro_batch, 1);
  EXPECT_EQ(layer(-1).import({.micro_batch = 6}).graph.micro_batch, 6);
}

TEST(Import, MicroBatchChangesInputs) {
  for (std::int64_t batch : {4, -1}) {
    const ImportResult result = layer(batch).import({.micro_batch = 7});
    EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{7, 2}));
  }
}

// Reshapes to numbers that were exported with a batch of 4: [4, 6] as heads and back.
FileMaker fixed_reshapes() {
  FileMaker file;
  file.input("x", {4, 6, 4}).output("y").output("z");
  file.integers("heads", {4}, {4, -1, 2, 4}).integers("rows", {2}, {24, 4}).integers("back", {3}, {-1, 6, 4});
  file.node("Reshape", {"x", "heads"}, {"h"});
  file.node("Reshape", {"h", "rows"}, {"y"});
  file.node("Reshape", {"y", "back"}, {"z"});
  return file;
}

TEST(Import, ReshapesToTheOldBatchFollowTheNewOne) {
  const ImportResult result = fixed_reshapes().import({.micro_batch = 2});
  EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{12, 4}));
  EXPECT_EQ(result.graph.info(result.names.at("z")).shape, (Shape{2, 6, 4}));
  const ImportResult larger = fixed_reshapes().import({.micro_batch = 5});
  EXPECT_EQ(larger.graph.info(larger.names.at("y")).shape, (Shape{30, 4}));
}

TEST(Import, AReshapeThatCannotFollowIsAnErrorWithItsName) {
  FileMaker file;
  file.input("x", {4, 3}).output("y").integers("shape", {2}, {2, 6});
  file.node("Reshape", {"x", "shape"}, {"y"}, "/net/odd");
  try {
    file.import({.micro_batch = 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("node \"/net/odd\" (Reshape): cannot reshape [3, 3] to [2, 6]"));
  }
}

TEST(Import, SymbolicDimensionsTakeTheirValuesFromTheOptions) {
  FileMaker file;
  file.input("x", {-1, -2}).output("y");
  file.node("Relu", {"x"}, {"y"});
  const ImportResult result = file.import({.micro_batch = 2, .dimensions = {{"sequence", 9}}});
  EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{2, 9}));
}

TEST(Import, ShapesGivenForInputsMustAgreeWithTheFile) {
  FileMaker file;
  file.input("x", {-1, 3}).output("y");
  file.node("Relu", {"x"}, {"y"});
  const ImportResult result = file.import({.input_shapes = {{"x", {0, 3}}}});
  EXPECT_EQ(result.graph.info(result.names.at("y")).shape, (Shape{0, 3}));
  try {
    file.import({.input_shapes = {{"x", {2, 4}}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("input \"x\": shape [2, 4] given, the file says [-1, 3]"));
  }
}

TEST(Import, TheLossComesFirst) {
  FileMaker file;
  file.input("x", {4, 3}).input("labels", {4}, kInt64).output("x2").output("loss");
  file.floats("w", {3, 5}, numbers(15, 1));
  file.node("MatMul", {"x", "w"}, {"x2"});
  file.node("SoftmaxCrossEntropyLoss", {"x2", "labels"}, {"loss"});
  const ImportResult result = file.import();
  EXPECT_EQ(result.graph.loss, result.names.at("loss"));
  EXPECT_THAT(result.graph.outputs, ElementsAre(result.names.at("loss"), result.names.at("x2")));
  EXPECT_THAT(result.outputs, ElementsAre("x2", "loss"));
}

TEST(Import, WithoutAScalarOutputThereIsNoLoss) { EXPECT_FALSE(layer(4).import().graph.loss.valid()); }

TEST(Import, WeightsWithoutValuesHaveAShape) {
  FileMaker file = layer(4);
  file.model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  const ImportResult result = file.import();
  EXPECT_EQ(result.weights_without_data, 1);
  EXPECT_EQ(result.graph.info(result.names.at("w")).shape, (Shape{3, 2}));
  EXPECT_EQ(result.graph.tensors[result.names.at("w")].data, nullptr);
}

TEST(Import, ForPlanningWeightsNeedNotBeRead) {
  const ImportResult result = layer(4).import({.read_weights = false});
  EXPECT_EQ(result.weights_without_data, 2);
  EXPECT_EQ(result.graph.parameters(), 8);
}

TEST(Import, InputsMayBecomeConstants) {
  FileMaker file;
  file.input("x", {2, 6}).input("shape", {2}, kInt64).output("y");
  file.node("Reshape", {"x", "shape"}, {"y"});
  const ImportResult open = file.import();
  ASSERT_EQ(open.unsupported.size(), 1u);
  EXPECT_THAT(open.inputs_to_know, ElementsAre("shape"));
  const ImportResult known = file.import({.known_inputs = {{"shape", integers_of({2}, {3, 4})}}});
  EXPECT_TRUE(known.unsupported.empty());
  EXPECT_EQ(known.graph.info(known.names.at("y")).shape, (Shape{3, 4}));
}

TEST(Import, NodesMayStandInAnyOrder) {
  FileMaker file;
  file.input("x", {4}).output("y");
  file.node("Exp", {"a"}, {"y"});
  file.node("Neg", {"x"}, {"a"});
  EXPECT_THAT(op_names(file.import().graph), ElementsAre("neg", "exp"));
}

TEST(Import, FunctionsOfTheFileAreExpanded) {
  FileMaker file;
  file.input("x", {2}).output("y").output("z");
  auto& function = *file.model.add_functions();
  function.set_name("Twice");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  auto& node = *function.add_node();
  node.set_op_type("Add");
  node.add_input("a");
  node.add_input("a");
  node.add_output("b");
  file.node("Twice", {"x"}, {"y"}).proto.set_domain("mine");
  file.node("Twice", {"y"}, {"z"}).proto.set_domain("mine");
  EXPECT_THAT(run(file.import(), {{"x", floats_of({2}, {1, 2})}}, "z").values(), ElementsAre(4, 8));
}

}  // namespace
}  // namespace superstep::test
