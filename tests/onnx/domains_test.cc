// SPDX-License-Identifier: Apache-2.0
// Operators of the domains com.microsoft and ai.graphcore, against the same network in ONNX's own operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";
constexpr const char* kGraphcore = "ai.graphcore";

// x [2, 3, 4], w [4, 4], v [4], u [4]
FileMaker sources() {
  FileMaker file;
  file.input("x", {2, 3, 4}).output("y").floats("w", {4, 4}, numbers(16, 3));
  file.floats("v", {4}, {0.5, -1, 2, 0.25}).floats("u", {4}, {1, 2, -0.5, 0});
  return file;
}

MadeNode node_of(FileMaker& file, const char* domain, const std::string& type, const Names& in, const Names& out) {
  MadeNode node = file.node(type, in, out);
  node.proto.set_domain(domain);
  return node;
}

Array result(const FileMaker& file, const Shape& shape) {
  const ImportResult imported = file.import();
  EXPECT_TRUE(imported.unsupported.empty()) << (imported.unsupported.empty() ? "" : imported.unsupported[0].why);
  if (!imported.unsupported.empty()) return {};
  return run(imported, {{"x", floats_of(shape, numbers(static_cast<std::size_t>(volume(shape)), 5))}});
}
Array result(const FileMaker& file) { return result(file, {2, 3, 4}); }

void expect_same(const Array& a, const Array& b) {
  ASSERT_EQ(a.info, b.info);
  for (std::int64_t i = 0; i < a.info.elements(); ++i) EXPECT_NEAR(a.at(i), b.at(i), 2e-6 * (1 + std::abs(b.at(i))));
}

TEST(Microsoft, FusedMatMulIsAScaledProductOfTransposes) {
  FileMaker fused = sources(), plain = sources();
  node_of(fused, kMicrosoft, "FusedMatMul", {"x", "w"}, {"y"}).set("transB", 1).set("alpha", 0.5F);
  plain.floats("half", {}, {0.5});
  plain.node("Transpose", {"w"}, {"t"}).set("perm", Extents{1, 0});
  plain.node("MatMul", {"x", "t"}, {"p"});
  plain.node("Mul", {"p", "half"}, {"y"});
  expect_same(result(fused), result(plain));
}

TEST(Microsoft, SkipLayerNormalizationIsASumAndANormalisation) {
  FileMaker fused = sources(), plain = sources();
  for (FileMaker* file : {&fused, &plain}) file->output("sum").floats("skip", {2, 3, 4}, numbers(24, 7));
  node_of(fused, kMicrosoft, "SkipLayerNormalization", {"x", "skip", "v", "u", "u"}, {"y", "", "", "sum"})
      .set("epsilon", 0.001F);
  plain.node("Add", {"x", "skip"}, {"s"});
  plain.node("Add", {"s", "u"}, {"sum"});
  plain.node("LayerNormalization", {"sum", "v", "u"}, {"y"}).set("epsilon", 0.001F);
  expect_same(result(fused), result(plain));
}

TEST(Microsoft, GemmAndConvolutionEndWithAnActivation) {
  FileMaker fused, plain;
  for (FileMaker* file : {&fused, &plain})
    file->input("x", {2, 4}).output("y").floats("w", {4, 4}, numbers(16, 3)).floats("v", {4}, {0.5, -1, 2, 0.25});
  node_of(fused, kMicrosoft, "FusedGemm", {"x", "w", "v"}, {"y"})
      .set("activation", "LeakyRelu")
      .set("activation_alpha", 0.1F);
  plain.node("Gemm", {"x", "w", "v"}, {"g"});
  plain.node("LeakyRelu", {"g"}, {"y"}).set("alpha", 0.1F);
  expect_same(result(fused, {2, 4}), result(plain, {2, 4}));

  FileMaker conv, apart;
  for (FileMaker* file : {&conv, &apart})
    file->input("x", {1, 2, 4, 4}).output("y").floats("k", {2, 2, 3, 3}, numbers(36, 3)).floats("z", {2}, {1, -1});
  node_of(conv, kMicrosoft, "FusedConv", {"x", "k", "z"}, {"y"}).set("activation", "Relu");
  apart.node("Conv", {"x", "k", "z"}, {"c"});
  apart.node("Relu", {"c"}, {"y"});
  expect_same(result(conv, {1, 2, 4, 4}), result(apart, {1, 2, 4, 4}));
}

TEST(Microsoft, GelusAreThoseOfOnnx) {
  const auto of = [](const char* domain, const char* type, const Names& in) {
    FileMaker file = sources();
    node_of(file, domain, type, in, {"y"});
    return result(file);
  };
  const auto own = [](const char* approximate, bool biased) {
    FileMaker file(20);
    file.input("x", {2, 3, 4}).output("y").floats("v", {4}, {0.5, -1, 2, 0.25});
    if (biased) file.node("Add", {"x", "v"}, {"s"});
    file.node("Gelu", {biased ? "s" : "x"}, {"y"}).set("approximate", approximate);
    return result(file);
  };
  expect_same(of(kMicrosoft, "Gelu", {"x"}), own("none", false));
  expect_same(of(kMicrosoft, "BiasGelu", {"x", "v"}), own("none", true));
  expect_same(of(kMicrosoft, "FastGelu", {"x", "v"}), own("tanh", true));
  expect_same(of(kGraphcore, "Gelu", {"x"}), own("tanh", false));
  expect_same(of(kGraphcore, "GeluErf", {"x"}), own("none", false));
}

// One head of width 4: softmax(q k^T / 2) v, where place i reads places up to i that the mask leaves.
TEST(Microsoft, AttentionReadsWhatIsBeforeAndNotMasked) {
  FileMaker fused;
  fused.input("x", {1, 3, 4}).output("y").integers("mask", {1, 3}, {1, 0, 1});
  std::vector<float> ones;
  for (int i = 0; i < 48; ++i) ones.push_back(i % 12 / 4 == 2 && i / 12 == i % 4 ? 1.0F : 0.0F);  // values are x
  fused.floats("w", {4, 12}, ones);
  node_of(fused, kMicrosoft, "Attention", {"x", "w", "", "mask"}, {"y"}).set("num_heads", 1).set("unidirectional", 1);
  const std::vector<float> x = numbers(12, 5);
  const Array y = run(fused.import(), {{"x", floats_of({1, 3, 4}, x)}});
  for (std::size_t d = 0; d < 4; ++d) {  // all scores are 0
    EXPECT_NEAR(y.at(static_cast<std::int64_t>(d)), x[d], 1e-5);
    EXPECT_NEAR(y.at(static_cast<std::int64_t>(4 + d)), x[d], 1e-5);
    EXPECT_NEAR(y.at(static_cast<std::int64_t>(8 + d)), (x[d] + x[8 + d]) / 2, 1e-5);
  }
}

// (x - 1) * 0.5 times (w - 0) * 0.25, to a scale of 0.5 and a zero point of 3.
TEST(Microsoft, QGemmMultipliesIntegers) {
  FileMaker file;
  const auto add = [&](const char* name, int type, const Extents& shape, const std::vector<int>& values) {
    onnx_file::TensorProto t;
    t.set_name(name), t.set_data_type(type);
    for (const std::int64_t extent : shape) t.add_dims(extent);
    for (const int v : values) t.add_int32_data(v);
    *file.model.mutable_graph()->add_initializer() = t;
  };
  constexpr int kUint8 = 2, kInt8 = 3;
  add("w", kInt8, {2, 2}, {2, -4, 6, 8}), add("one", kUint8, {}, {1}), add("zero", kInt8, {}, {0});
  add("three", kUint8, {}, {3});
  file.input("x", {1, 2}, kUint8).output("y");
  file.floats("xs", {}, {0.5}).floats("ws", {}, {0.25}).floats("ys", {}, {0.5});
  node_of(file, kMicrosoft, "QGemm", {"x", "xs", "one", "w", "ws", "zero", "", "ys", "three"}, {"y"});
  const Array y = run(file.import(), {{"x", Array::from(DType::uint8, {1, 2}, {5, 3})}});
  // Sums 4 * 2 + 2 * 6 = 20 and 4 * -4 + 2 * 8 = 0; times 0.125 over 0.5, plus 3.
  EXPECT_THAT(y.values(), testing::ElementsAre(8, 3));
}

TEST(Graphcore, LossesAndGroupNorm) {
  FileMaker loss = sources();
  node_of(loss, kGraphcore, "L1", {"x"}, {"y"}).set("lambda", 0.5F).set("reduction", "Mean");
  FileMaker plain = sources();
  plain.node("Abs", {"x"}, {"a"});
  plain.floats("half", {}, {0.5}).node("Mul", {"a", "half"}, {"h"});
  plain.node("ReduceMean", {"h"}, {"y"}).set("keepdims", 0);
  expect_same(result(loss), result(plain));

  FileMaker group, own(21);
  for (FileMaker* file : {&group, &own})
    file->input("x", {2, 4, 3, 3}).output("y").floats("v", {4}, {0.5, -1, 2, 0.25}).floats("u", {4}, {1, 2, -0.5, 0});
  node_of(group, kGraphcore, "GroupNormalization", {"x", "v", "u"}, {"y"}).set("num_groups", 2);
  own.node("GroupNormalization", {"x", "v", "u"}, {"y"}).set("num_groups", 2);
  expect_same(result(group, {2, 4, 3, 3}), result(own, {2, 4, 3, 3}));
}

}  // namespace
}  // namespace superstep::test
