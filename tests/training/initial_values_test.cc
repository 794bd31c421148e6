// SPDX-License-Identifier: Apache-2.0
#include "model/training/initial_values.h"

#include <gmock/gmock.h>

#include <cmath>

#include "model/graph/builder.h"
#include "model/onnx/import.h"
#include "small_models.h"

namespace superstep {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

double spread_of(const Array& array) {
  double squares = 0;
  for (double x : array.values()) squares += x * x;
  return std::sqrt(squares / static_cast<double>(array.info.elements()));
}

TEST(InitialValues, FollowWhatAWeightIsUsedFor) {
  TransformerSpec spec = tiny("bert-base");
  spec.hidden = 64, spec.ffn = 128;
  const Graph graph = build(spec, 1, DType::fp32);
  for (const auto& [name, value] : initial_values(graph, WeightSource::stored_or_drawn, 7)) {
    if (name.ends_with("gamma"))
      EXPECT_THAT(value.values(), Each(1.0)) << name;
    else if (name.ends_with("beta") || name.ends_with("bias"))
      EXPECT_THAT(value.values(), Each(0.0)) << name;
    else
      EXPECT_NEAR(spread_of(value), 0.02, 0.004) << name;
  }
}

TEST(InitialValues, OfConvolutionsShrinkWithTheirFanIn) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {1, 8, 6, 6});
  const TensorId w = b.weight("kernel", DType::fp32, {32, 8, 3, 3});
  b.one("conv", {x, w});
  EXPECT_NEAR(spread_of(initial_values(graph, WeightSource::drawn, 1).at("kernel")), std::sqrt(2.0 / 72), 0.01);
}

// A scale of normalisation, wherever its values pass: through a reshape, a cast, under a root.
TEST(InitialValues, OfFactorsAndVariancesAreOne) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {1, 4, 3});
  const TensorId scale = b.weight("s", DType::fp16, {4}), variance = b.weight("v", DType::fp32, {4});
  const TensorId mean = b.weight("m", DType::fp32, {4});
  const auto column = [&](TensorId t) { return b.reshape(t, {4, 1}); };
  const TensorId centred = b.binary("sub", x, column(mean));
  const TensorId y = b.binary("mul", centred, b.unary("rsqrt", b.shift(column(variance), 1e-5)));
  b.binary("mul", y, b.cast(column(scale), DType::fp32));
  const NamedValues values = initial_values(graph, WeightSource::drawn, 1);
  EXPECT_THAT(values.at("s").values(), Each(1.0));
  EXPECT_THAT(values.at("v").values(), Each(1.0));
  EXPECT_THAT(values.at("m").values(), Each(0.0));
}

TEST(InitialValues, DependOnSeedAndNameAlone) {
  const auto values = [](std::int64_t samples, std::uint64_t seed) {
    return initial_values(build(tiny("gpt2-small"), samples, DType::fp32), WeightSource::stored_or_drawn, seed);
  };
  EXPECT_EQ(values(1, 5), values(8, 5));
  EXPECT_NE(values(1, 5), values(1, 6));
  const NamedValues v = values(1, 5);
  EXPECT_NE(v.at("layer0/attention/out"), v.at("layer1/attention/out"));
}

TEST(InitialValues, OfStatesAreZeroAndOfMasterCopiesTheWeights) {
  OptimizerSpec spec{.kind = "adam"};
  spec.master_weights = true;
  const Graph graph = tiny_training("gpt2-small", 1, spec, LossScaling::none, DType::fp16);
  const NamedValues values = initial_values(graph, WeightSource::stored_or_drawn, 2);
  int masters = 0, others = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind != TensorKind::optimizer_state) continue;
    const bool master = tensor.name.ends_with("/master");
    ++(master ? masters : others);
    if (master)
      EXPECT_EQ(values.at(tensor.name).values(), values.at(graph.tensors[tensor.weight].name).values());
    else
      EXPECT_THAT(values.at(tensor.name).values(), Each(0.0)) << tensor.name;
  }
  EXPECT_GT(masters, 0);
  EXPECT_GT(others, masters);
}

TEST(InitialValues, OfAFileAreThoseOfTheFile) {
  const std::string file = std::string(SUPERSTEP_REFERENCES) + "/lstm_h10/train.onnx";
  const Graph graph = import_onnx(file, {}).graph;
  const NamedValues stored = initial_values(graph, WeightSource::stored, 1);
  int weights = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind != TensorKind::weight) continue;
    EXPECT_EQ(stored.at(tensor.name), *tensor.data);
    ++weights;
  }
  EXPECT_GT(weights, 0);
  EXPECT_NE(initial_values(graph, WeightSource::drawn, 1), stored);
}

TEST(InitialValues, ThatAreMissingAreAnErrorThatOffersToDrawThem) {
  const std::string file = std::string(SUPERSTEP_REFERENCES) + "/lstm_h10/train.onnx";
  const Graph graph = import_onnx(file, {.read_weights = false}).graph;
  EXPECT_THAT(message_of([&] { initial_values(graph, WeightSource::stored, 1); }),
              AllOf(HasSubstr("weight \""), HasSubstr("has no values"), HasSubstr("\"weights\": \"random\"")));
  EXPECT_EQ(message_of([&] { initial_values(graph, WeightSource::drawn, 1); }), "");
}

}  // namespace
}  // namespace superstep
