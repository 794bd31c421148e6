// SPDX-License-Identifier: Apache-2.0
// A whole network: both forms give the same values, repeated layers give repeated units, gradients and
// other batches work.
#include "tests/onnx/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/graph/autodiff.h"
#include "model/graph/op_def.h"

namespace superstep::test {
namespace {

std::map<std::string, Array> inputs(const EncoderSpec& spec, std::int64_t batch) {
  std::vector<std::int64_t> ids, labels;
  std::vector<float> mask;
  for (std::int64_t i = 0; i < batch * spec.sequence; ++i) {
    ids.push_back(i * 7 % spec.vocabulary);
    labels.push_back(i % 4 == 3 ? -100 : i * 5 % spec.vocabulary);
    mask.push_back(i % spec.sequence == spec.sequence - 1 ? 0.0f : 1.0f);
  }
  const Extents shape{batch, spec.sequence};
  return {{"ids", integers_of(shape, ids)}, {"mask", floats_of(shape, mask)}, {"labels", integers_of(shape, labels)}};
}

TEST(Encoder, BothFormsGiveTheSameValues) {
  const EncoderSpec newer, older{.opset = 11};
  const Array a = run(encoder_file(newer).import(), inputs(newer, newer.batch));
  const Array b = run(encoder_file(older).import(), inputs(newer, newer.batch));
  EXPECT_EQ(a.info.shape, (Shape{2, 5, 11}));
  EXPECT_LT(difference(a, b), 1e-5);
}

class EncoderForm : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(EncoderForm, ShapeArithmeticAndDropoutDisappear) {
  const ImportResult result = encoder_file({.opset = GetParam()}).import();
  for (const Op& op : result.graph.ops) {
    for (TensorId t : op.outputs) EXPECT_TRUE(is_float(result.graph.info(t).type)) << op.name;
    EXPECT_NE(op.def->name, "dropout");
    EXPECT_NE(op.def->name, "concat");
  }
}

TEST_P(EncoderForm, LayersAreUnitsThatDoTheSame) {
  const ImportResult result = encoder_file({.opset = GetParam(), .layers = 4}).import();
  const Graph& graph = result.graph;
  ASSERT_EQ(graph.units.size(), 10u);  // embedding, attention and feed-forward of each layer, head
  std::set<std::uint64_t> kinds;
  for (std::size_t u = 1; u < 9; ++u) kinds.insert(signature(graph, UnitId(u)));
  EXPECT_LE(kinds.size(), 3u);  // the last may differ by the normalisation at the end
  EXPECT_EQ(signature(graph, UnitId(1)), signature(graph, UnitId(3)));
  EXPECT_EQ(signature(graph, UnitId(2)), signature(graph, UnitId(4)));
  EXPECT_EQ(graph.units[UnitId(1)].name, "encoder/layer.0/0");
  for (std::size_t u = 0; u < graph.units.size(); ++u)
    EXPECT_EQ(graph.units[UnitId(u)].layer, static_cast<std::int64_t>(u));
}

// Masks are made again where they are read: one activation goes from unit to unit.
TEST_P(EncoderForm, ASingleTensorCrossesEachCut) {
  const ImportResult result = encoder_file({.opset = GetParam(), .layers = 3}).import();
  const Graph& graph = result.graph;
  std::vector<std::set<TensorId>> crossing(graph.units.size());
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      const OpId producer = graph.tensors[t].producer;
      if (!producer.valid()) continue;
      for (std::int32_t u = graph.ops[producer].unit.index + 1; u <= op.unit.index; ++u) {
        crossing[static_cast<std::size_t>(u)].insert(t);
      }
    }
  }
  for (std::size_t u = 1; u < crossing.size(); ++u) EXPECT_EQ(crossing[u].size(), 1u) << u;
}

TEST_P(EncoderForm, AnotherBatchComputesTheSamePerSample) {
  const EncoderSpec spec{.opset = GetParam()};
  const ImportResult result = encoder_file(spec).import({.micro_batch = 6});
  EXPECT_EQ(result.graph.micro_batch, 6);
  const Array whole = run(result, inputs(spec, 6));
  EXPECT_EQ(whole.info.shape, (Shape{6, 5, 11}));
  const Array two = run(encoder_file(spec).import(), inputs(spec, 2));
  for (std::int64_t i = 0; i < two.info.elements(); ++i) EXPECT_NEAR(whole.at(i), two.at(i), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(OperatorSets, EncoderForm, ::testing::Values(11, 17));

TEST(Encoder, HasALossWithGradientsOfAllWeights) {
  const EncoderSpec spec{.loss = true};
  ImportResult result = encoder_file(spec).import();
  ASSERT_TRUE(result.graph.loss.valid());
  const double loss = run(result, inputs(spec, spec.batch), "loss").at(0);
  EXPECT_GT(loss, 1);
  EXPECT_LT(loss, 10);
  std::size_t weights = 0;
  for (const Tensor& t : result.graph.tensors) weights += t.kind == TensorKind::weight;
  EXPECT_EQ(add_gradients(result.graph).size(), weights);
  check(result.graph);
}

TEST(Encoder, InHalfPrecisionTheLossIsNear) {
  const EncoderSpec spec{.loss = true};
  const auto fed = inputs(spec, spec.batch);
  const double single = run(encoder_file(spec).import(), fed, "loss").at(0);
  auto half_fed = fed;
  half_fed["mask"] = Array::from(DType::fp16, fed.at("mask").info.shape, fed.at("mask").values());
  const double half = run(encoder_file(spec).import({.precision = DType::fp16}), half_fed, "loss").at(0);
  EXPECT_NEAR(half, single, 0.02);
}

}  // namespace
}  // namespace superstep::test
