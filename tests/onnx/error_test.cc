// SPDX-License-Identifier: Apache-2.0
// Files that are broken, and files with nodes that we do not import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/error.h"
#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y = w x + b with everything in place.
FileMaker sound() {
  FileMaker file;
  file.input("x", {4, 3}).output("y").floats("w", {3, 2}, numbers(6, 1)).floats("b", {2}, {1, 2});
  file.node("MatMul", {"x", "w"}, {"p"}, "product");
  file.node("Add", {"p", "b"}, {"y"}, "sum");
  return file;
}

std::string message(const std::string& path, const ImportOptions& options = {}) {
  try {
    import_onnx(path, options);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    return error.what();
  }
  return "no error";
}
std::string message(const FileMaker& file) { return message(file.write()); }

TEST(ImportError, NoSuchFile) { EXPECT_THAT(message("no/such/model.onnx"), HasSubstr("cannot open")); }

TEST(ImportError, AFolder) { EXPECT_THAT(message(fresh_folder().string()), HasSubstr("is a folder")); }

TEST(ImportError, EmptyFile) {
  EXPECT_THAT(message(write_file(fresh_folder() / "m.onnx", "")), HasSubstr("no graph found"));
}

TEST(ImportError, ForeignFile) {
  const std::string text = "{\"model\": \"this is JSON, not ONNX\"}";
  EXPECT_THAT(message(write_file(fresh_folder() / "m.onnx", text)), HasSubstr("truncated, or not an ONNX model"));
}

TEST(ImportError, TruncatedFile) {
  const std::string bytes = sound().bytes();
  const std::string path = write_file(fresh_folder() / "m.onnx", bytes.substr(0, bytes.size() - 20));
  EXPECT_THAT(message(path), AllOf(HasSubstr("byte "), HasSubstr("truncated, or not an ONNX model")));
}

TEST(ImportError, NoOperatorSet) {
  FileMaker file = sound();
  file.model.clear_opset_import();
  EXPECT_THAT(message(file), HasSubstr("no opset_import found"));
}

TEST(ImportError, OnlyAnotherOperatorSet) {
  FileMaker file = sound();
  file.model.mutable_opset_import(0)->set_domain("elsewhere");
  EXPECT_THAT(message(file), HasSubstr("node \"product\" (MatMul): no opset_import of its domain"));
}

TEST(ImportError, AnOperatorSetOfVersionZero) {
  FileMaker file = sound();
  file.model.mutable_opset_import(0)->set_version(0);
  EXPECT_THAT(message(file), HasSubstr("of version 0"));
}

TEST(ImportError, Cycle) {
  FileMaker file = sound();
  file.node("Relu", {"q"}, {"r"}, "first");
  file.node("Neg", {"r"}, {"q"}, "second");
  EXPECT_THAT(message(file), AllOf(HasSubstr("node \""), HasSubstr("cycle through this node")));
}

TEST(ImportError, ANodeThatReadsItself) {
  FileMaker file = sound();
  file.node("Relu", {"r"}, {"r"}, "self");
  EXPECT_THAT(message(file), HasSubstr("node \"self\": the graph has a cycle"));
}

TEST(ImportError, AnOperandNobodyProduces) {
  FileMaker file = sound();
  file.node("Relu", {"ghost"}, {"r"}, "lost");
  EXPECT_THAT(message(file), HasSubstr("node \"lost\": nobody produces its operand \"ghost\""));
}

TEST(ImportError, AnOutputNobodyProduces) {
  FileMaker file = sound();
  file.output("ghost");
  EXPECT_THAT(message(file), HasSubstr("nobody produces the graph output \"ghost\""));
}

TEST(ImportError, TwoResultsOfOneName) {
  FileMaker file = sound();
  file.node("Relu", {"x"}, {"p"}, "again");
  EXPECT_THAT(message(file), HasSubstr("node \"again\": result \"p\" has the name of another tensor"));
}

TEST(ImportError, AResultWithTheNameOfAnInput) {
  FileMaker file = sound();
  file.node("Relu", {"p"}, {"x"}, "back");
  EXPECT_THAT(message(file), HasSubstr("node \"back\": result \"x\" has the name of another tensor"));
}

TEST(ImportError, TwoInitializersOfOneName) {
  FileMaker file = sound();
  file.floats("w", {1}, {1});
  EXPECT_THAT(message(file), HasSubstr("two initializers are called \"w\""));
}

TEST(ImportError, TwoInputsOfOneName) {
  FileMaker file = sound();
  file.input("x", {1});
  EXPECT_THAT(message(file), HasSubstr("two graph inputs are called \"x\""));
}

TEST(ImportError, NegativeExtentOfAnInput) {
  FileMaker file = sound();
  auto& shape = *file.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(1)->set_dim_value(-3);
  EXPECT_THAT(message(file), HasSubstr("input \"x\": negative extent in [4, -3]"));
}

TEST(ImportError, NegativeExtentOfAWeight) {
  FileMaker file = sound();
  file.model.mutable_graph()->mutable_initializer(0)->set_dims(0, -3);
  EXPECT_THAT(message(file), HasSubstr("tensor \"w\": negative extent in [-3, 2]"));
}

TEST(ImportError, AbsurdExtents) {
  FileMaker file = sound();
  file.model.mutable_graph()->mutable_initializer(0)->set_dims(0, INT64_MAX / 2);
  EXPECT_THAT(message(file), HasSubstr("tensor \"w\": absurd shape"));
}

TEST(ImportError, AbsurdResult) {
  FileMaker file;
  file.input("x", {1 << 22, 1}).input("z", {1, 1 << 22}).output("y");
  file.node("Add", {"x", "z"}, {"y"}, "outer");
  EXPECT_THAT(message(file), HasSubstr("node \"outer\" (Add): result: absurd shape"));
}

TEST(ImportError, FewerValuesThanTheShapeSays) {
  FileMaker file = sound();
  file.model.mutable_graph()->mutable_initializer(0)->mutable_float_data()->RemoveLast();
  EXPECT_THAT(message(file), HasSubstr("tensor \"w\": found 5 values, expected 6"));
}

TEST(ImportError, FewerBytesThanTheShapeSays) {
  FileMaker file = sound();
  auto& w = *file.model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data(std::string(23, 'x'));
  EXPECT_THAT(message(file), HasSubstr("tensor \"w\": found 23 bytes of values, expected 24"));
}

TEST(ImportError, IntegersWithoutValues) {
  FileMaker file = sound();
  file.integers("shape", {1}, {});
  file.model.mutable_graph()->mutable_output(0)->set_name("z");
  file.node("Reshape", {"y", "shape"}, {"z"});
  EXPECT_THAT(message(file), HasSubstr("tensor \"shape\": no values found, expected 1"));
}

TEST(ImportError, ShapesThatDoNotMatch) {
  FileMaker file = sound();
  file.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(7);
  EXPECT_THAT(message(file), AllOf(HasSubstr("node \"product\" (MatMul): "), HasSubstr("[4, 7]")));
}

TEST(ImportError, AxisOutOfRange) {
  FileMaker file = sound();
  file.output("z");
  file.node("Concat", {"y", "y"}, {"z"}, "join").set("axis", 5);
  EXPECT_THAT(message(file), HasSubstr("node \"join\" (Concat): axis 5 is not one of 2 dimensions"));
}

TEST(ImportError, AttributeOfAnotherType) {
  FileMaker file = sound();
  file.output("z");
  file.node("Concat", {"y", "y"}, {"z"}, "join").set("axis", "one");
  EXPECT_THAT(message(file), HasSubstr("attribute \"axis\" is not an integer"));
}

TEST(ImportError, OperandLeftOut) {
  FileMaker file = sound();
  file.output("z");
  file.node("MatMul", {"y"}, {"z"}, "half");
  EXPECT_THAT(message(file), HasSubstr("node \"half\" (MatMul): operand 1 is missing"));
}

TEST(ImportError, SymbolicDimensionWithoutAValue) {
  FileMaker file;
  file.input("x", {-1, -2}).output("y");
  file.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(
      message(file),
      HasSubstr("input \"x\": dimension 1 is open; give \"sequence\" a value: \"dimensions\": {\"sequence\": N}"));
}

TEST(ImportError, AFunctionThatCallsItself) {
  FileMaker file = sound();
  auto& function = *file.model.add_functions();
  function.set_name("Round");
  function.set_domain("mine");
  auto& node = *function.add_node();
  node.set_op_type("Round");
  node.set_domain("mine");
  node.add_output("r");
  function.add_output("r");
  file.node("Round", {}, {"r"}, "start").proto.set_domain("mine");
  EXPECT_THAT(message(file), HasSubstr("function \"Round\" calls itself"));
}

// Values beside the model

// w lies in `location`; the folder has the model and weights.bin of `bytes` bytes.
std::string with_external(const std::string& location, std::size_t bytes, const Names& extra = {}) {
  FileMaker file = sound();
  auto& w = *file.model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_data_location(1);
  const auto entry = [&](const std::string& key, const std::string& value) {
    auto& e = *w.add_external_data();
    e.set_key(key);
    e.set_value(value);
  };
  entry("location", location);
  for (std::size_t i = 0; i + 1 < extra.size(); i += 2) entry(extra[i], extra[i + 1]);
  const auto folder = fresh_folder() / "model";
  std::filesystem::create_directories(folder);
  const std::vector<float> values = numbers(static_cast<std::int64_t>(bytes / 4 + 1), 3);
  write_file(folder / "weights.bin", {reinterpret_cast<const char*>(values.data()), bytes});
  write_file(folder / ".." / "outside.bin", std::string(64, 'x'));
  return write_file(folder / "m.onnx", file.bytes());
}

TEST(ExternalData, IsReadFromBesideTheModel) {
  const ImportResult result = import_onnx(with_external("weights.bin", 32, {"offset", "8", "length", "24"}), {});
  EXPECT_EQ(result.external_weights, 1);
  EXPECT_EQ(result.weights_without_data, 0);
  const std::vector<float> values = numbers(9, 3);
  EXPECT_EQ(result.graph.tensors[result.names.at("w")].data->at(0), static_cast<double>(values[2]));
}

TEST(ExternalData, NeedNotBeThereForPlanning) {
  const ImportResult result = import_onnx(with_external("missing.bin", 4), {.read_weights = false});
  EXPECT_EQ(result.external_weights, 1);
  EXPECT_EQ(result.weights_without_data, 2);
}

TEST(ExternalData, Missing) {
  EXPECT_THAT(message(with_external("missing.bin", 4)),
              HasSubstr("tensor \"w\": external data \"missing.bin\" not found"));
}

TEST(ExternalData, Truncated) {
  EXPECT_THAT(message(with_external("weights.bin", 20)), HasSubstr("ends too early: found 20 bytes, expected 24"));
}

TEST(ExternalData, OffsetBehindTheEnd) {
  EXPECT_THAT(message(with_external("weights.bin", 32, {"offset", "9000000000"})), HasSubstr("ends too early"));
}

TEST(ExternalData, OffsetThatIsNoNumber) {
  EXPECT_THAT(message(with_external("weights.bin", 32, {"offset", "-8"})), HasSubstr("offset or length \"-8\""));
}

TEST(ExternalData, AbsolutePath) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "x.bin").string();
  EXPECT_THAT(message(with_external(path, 4)), HasSubstr("lies outside of the model's folder"));
}

TEST(ExternalData, ParentFolder) {
  EXPECT_THAT(message(with_external("../outside.bin", 4)), HasSubstr("lies outside of the model's folder"));
}

TEST(ExternalData, SymbolicLinkOutOfTheFolder) {
  const std::string path = with_external("link.bin", 4);
  const auto folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_symlink(folder / ".." / "outside.bin", folder / "link.bin");
  EXPECT_THAT(message(path), HasSubstr("lies outside of the model's folder"));
}

// snapshots/1/model.onnx -> blobs/a, and its data beside it -> blobs/b.
TEST(ExternalData, LinksOfTheModelAndItsDataIntoOneFolder) {
  const std::filesystem::path made = with_external("weights.bin", 32, {"offset", "8", "length", "24"});
  const auto root = fresh_folder(), blobs = root / "blobs", snapshot = root / "snapshots" / "1";
  create_directories(blobs), create_directories(snapshot);
  copy_file(made, blobs / "a");
  copy_file(made.parent_path() / "weights.bin", blobs / "b");
  create_symlink("../../blobs/a", snapshot / "model.onnx");
  create_symlink("../../blobs/b", snapshot / "weights.bin");
  EXPECT_EQ(import_onnx((snapshot / "model.onnx").string(), {}).external_weights, 1);
  // A link that leads elsewhere stays refused.
  remove(snapshot / "weights.bin");
  copy_file(blobs / "b", root / "b");
  create_symlink("../../b", snapshot / "weights.bin");
  EXPECT_THAT(message((snapshot / "model.onnx").string()), HasSubstr("lies outside of the model's folder"));
}

// Sound files with nodes that are not imported

TEST(Unsupported, AllNodesAreListed) {
  FileMaker file = sound();
  file.node("StringNormalizer", {"y", "y"}, {"boxes"}, "boxes");
  file.node("NoSuchOperator", {"boxes"}, {"top"}, "best");  // behind one that is not supported
  file.node("MultiHeadAttention", {"x"}, {"f"}, "fused").proto.set_domain("com.microsoft");
  const ImportResult result = file.import();
  ASSERT_EQ(result.unsupported.size(), 3u);
  EXPECT_EQ(result.unsupported[0].name, "boxes");
  EXPECT_EQ(result.unsupported[1].name, "best");
  EXPECT_EQ(result.unsupported[2].name, "fused");
  EXPECT_EQ(result.unsupported[2].domain, "com.microsoft");
}

TEST(Unsupported, ControlFlow) {
  FileMaker file = sound();
  file.node("If", {"x"}, {"chosen"}, "choice");
  const ImportResult result = file.import();
  ASSERT_EQ(result.unsupported.size(), 1u);
  EXPECT_EQ(result.unsupported[0].name, "choice");
  EXPECT_THAT(result.unsupported[0].why, HasSubstr("the data decide"));
}

TEST(Unsupported, TypesWeDoNotHave) {
  FileMaker file = sound();
  constexpr int kString = 8, kUint4 = 21;
  file.input("text", {4}, kString);
  file.node("Cast", {"x"}, {"c"}, "narrow").set("to", kUint4);
  const ImportResult result = file.import();
  ASSERT_EQ(result.unsupported.size(), 2u);
  EXPECT_EQ(result.unsupported[0].name, "text");
  EXPECT_EQ(result.unsupported[0].why, "type string");
  EXPECT_EQ(result.unsupported[1].why, "type uint4");
}

TEST(Unsupported, ResultsThatAreNotMade) {
  FileMaker file;
  file.input("x", {4}).output("y").output("mask", kBool).floats("ratio", {}, {0.5});
  onnx_file::TensorProto on;
  on.set_data_type(kBool);
  on.add_int32_data(1);
  file.node("Constant", {}, {"on"}).set("value", on);
  file.node("Dropout", {"x", "ratio", "on"}, {"y", "mask"}, "drop");
  const ImportResult result = file.import();
  ASSERT_EQ(result.unsupported.size(), 1u);
  EXPECT_EQ(result.unsupported[0].name, "drop");
}

TEST(Unsupported, NothingInASoundFile) { EXPECT_THAT(sound().import().unsupported, IsEmpty()); }

}  // namespace
}  // namespace superstep::test
