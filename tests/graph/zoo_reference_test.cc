// SPDX-License-Identifier: Apache-2.0
// Loss and gradients of small networks of the zoo against PyTorch; make_zoo_references.py printed the numbers and says
// what they are of.
#include <gtest/gtest.h>

#include <cmath>

#include "model/execute/evaluate.h"
#include "model/graph/autodiff.h"
#include "model/zoo/zoo.h"

namespace superstep {
namespace {

Array wave(const TensorInfo& info, double number, double pace = 1.3, double height = 0.5) {
  Array array(info);
  for (std::int64_t i = 0; i < info.elements(); ++i)
    array.set(i, height * std::sin(0.7 * number + pace * static_cast<double>(i)));
  return array;
}

struct Outcome {
  std::int64_t parameters = 0;
  double loss = 0, along = 0;  // the sum of all gradients, each element times that of a wave
};

// Weights in the order in which the graph has them, numbered from 1; `inputs` by name.
Outcome run(Graph graph, const std::map<std::string, Array>& inputs) {
  Outcome outcome;
  outcome.parameters = graph.parameters();
  const auto gradients = add_gradients(graph);
  check(graph);
  Values feeds;
  std::vector<TensorId> weights;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::input) feeds[TensorId(i)] = inputs.at(tensor.name);
    if (tensor.kind != TensorKind::weight) continue;
    weights.push_back(TensorId(i));
    feeds[TensorId(i)] = wave(tensor.info, static_cast<double>(weights.size()));
  }
  const Values values = evaluate(graph, std::move(feeds), {});
  outcome.loss = values.at(graph.loss).at(0);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const Array& gradient = values.at(gradients.at(weights[k]));
    const Array along = wave(gradient.info, static_cast<double>(k), 0.9, 1);
    for (std::int64_t i = 0; i < gradient.info.elements(); ++i) outcome.along += gradient.at(i) * along.at(i);
  }
  return outcome;
}

void expect_near(const Outcome& found, const Outcome& expected) {
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_NEAR(found.loss, expected.loss, 1e-10);
  EXPECT_NEAR(found.along, expected.along, 1e-9);
}

// All widths 8 but the last, one block of each size.
EfficientNetSpec small_efficientnet(const std::string& name) {
  EfficientNetSpec spec = efficientnet_spec(name);
  spec.width_coefficient = 0.01, spec.depth_coefficient = 0.1;
  spec.image_size = 64, spec.classes = 5;
  spec.dropout = spec.stochastic_depth = 0;
  return spec;
}

Outcome run(const EfficientNetSpec& spec) {
  return run(build(spec, 3, DType::fp64),
             {{"images", wave({DType::fp64, {3, 3, spec.image_size, spec.image_size}}, 0, 1.7, 1)},
              {"labels", Array::from(DType::int32, {3}, {4, 0, 2})}});
}

TEST(ZooReference, EfficientNetWithDepthwiseConvolutionsAndBatchNorm) {
  expect_near(run(small_efficientnet("efficientnet-b0")), {12891, 1.86815193424, -2.14527248022});
}

TEST(ZooReference, EfficientNetWithGroupConvolutionsAndGroupNorm) {
  EfficientNetSpec spec = small_efficientnet("efficientnet-b4-g16");
  spec.group_size = 4, spec.expansion = 2;
  expect_near(run(spec), {9939, 1.87257014634, -0.94773754904});
}

// Every element `pace` further than the one before, modulo `limit`; those of a row beyond its count: -100.
Array labels(const std::vector<std::int64_t>& counts, std::int64_t rows, std::int64_t pace, std::int64_t limit) {
  Array array({DType::int32, {static_cast<std::int64_t>(counts.size()), rows}});
  for (std::int64_t i = 0; i < array.info.elements(); ++i) {
    const bool counted = i % rows < counts[static_cast<std::size_t>(i / rows)];
    array.set(i, counted ? static_cast<double>(i * pace % limit) : -100.0);
  }
  return array;
}

TEST(ZooReference, ConformerWithItsDecoder) {
  ConformerSpec spec = conformer_spec("conformer-m");
  spec.layers = spec.decoder_layers = 2;
  spec.hidden = 8, spec.heads = 2, spec.ffn = 12, spec.kernel = 3, spec.vocabulary = 9;
  spec.frames = 31, spec.features = 11, spec.target_length = 5;
  spec.dropout = 0;
  const Outcome found = run(build(spec, 2, DType::fp64), {{"features", wave({DType::fp64, {2, 31, 11}}, 0, 1.7, 1)},
                                                          {"frame_lengths", Array::from(DType::int32, {2}, {28, 17})},
                                                          {"token_lengths", Array::from(DType::int32, {2}, {5, 3})},
                                                          {"target_in", labels({5, 5}, 5, 5, 9)},
                                                          {"target_out", labels({5, 3}, 5, 7, 9)},
                                                          {"alignment", labels({7, 5}, 7, 4, 9)}});
  expect_near(found, {4946, 2.21716944095, -0.187258938772});
}

// One layer, samples of 6 tokens; the heads of make_zoo_references.py.
TransformerSpec small_bert(BertHead head, bool packed) {
  TransformerSpec spec = transformer_spec("bert-base");
  spec.layers = 1, spec.hidden = 8, spec.heads = 2, spec.ffn = 12, spec.vocabulary = 11;
  spec.sequence_length = spec.positions = 6;
  spec.masked_tokens = 2, spec.classes = head == BertHead::classification ? 3 : 2;
  spec.head = head, spec.packed = packed;
  spec.dropout = spec.attention_dropout = 0;
  return spec;
}

Array integers(Shape shape, std::vector<double> values) { return Array::from(DType::int32, std::move(shape), values); }

Outcome run_bert(BertHead head, bool packed) {
  const bool language = head == BertHead::masked_language;
  std::map<std::string, Array> inputs = {
      {"tokens", integers({2, 6}, {0, 5, 10, 4, 9, 3, 8, 2, 7, 1, 6, 0})},
      {"segments", integers({2, 6}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1})},
      {"mask", Array::from(DType::fp64, {2, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0})},
      {"sequences", integers({2, 6}, {1, 1, 2, 2, 2, 2, 1, 1, 1, 2, 2, 3})},
      {"positions", integers({2, 6}, {0, 1, 0, 1, 2, 3, 0, 1, 2, 0, 1, 0})},
      {"first_positions", integers({2, 3}, {0, 2, 0, 0, 3, 5})},
      {"masked_positions", integers({2, 2}, {1, 4, 0, 2})},
      {"masked_labels", integers({2, 2}, {3, 10, -100, 7})},
      {"start_positions", packed ? integers({2, 3}, {1, 2, -100, 0, 3, 5}) : integers({2, 1}, {1, 0})},
      {"end_positions", packed ? integers({2, 3}, {1, 5, -100, 2, 4, 5}) : integers({2, 1}, {3, 2})}};
  const std::vector<double> classes =
      language ? std::vector<double>{1, 0, -100, 0, 1, 1} : std::vector<double>{2, 0, -100, 1, 1, 2};
  const std::vector<double> alone = language ? std::vector<double>{1, 0} : std::vector<double>{2, 1};
  inputs[language ? "next_sentence_labels" : "labels"] = packed ? integers({2, 3}, classes) : integers({2, 1}, alone);
  return run(build(small_bert(head, packed), 2, DType::fp64), inputs);
}

Outcome run_llama(const std::string& name, bool tied) {
  LlamaSpec spec = llama_spec(name);
  spec.layers = 2, spec.hidden = 12, spec.heads = 4, spec.key_value_heads = 2, spec.head_size = 6, spec.ffn = 16;
  spec.vocabulary = 11, spec.sequence_length = 5, spec.tied_head = tied;
  spec.rotary_base = 1e6, spec.norm_epsilon = 1e-6;
  return run(build(spec, 2, DType::fp64), {{"tokens", integers({2, 5}, {0, 5, 10, 4, 9, 3, 8, 2, 7, 1})},
                                           {"labels", integers({2, 5}, {5, 10, 4, 9, -100, 8, 2, 7, 1, -100})}});
}

TEST(ZooReference, LlamaAndQwen) {
  expect_near(run_llama("llama2-7b", false), {3204, 2.5020977904, -0.00175980504432});
  expect_near(run_llama("qwen2.5-7b", true), {3168, 2.49980424622, 0.582618799625});
  expect_near(run_llama("qwen3-8b", true), {3096, 2.43500125103, 0.017610798841});
}

TEST(ZooReference, HeadsOfBertForOneSequence) {
  expect_near(run_bert(BertHead::masked_language, false), {889, 3.59438720008, 0.17354011335});
  expect_near(run_bert(BertHead::classification, false), {799, 1.37493614572, 0.740300951578});
  expect_near(run_bert(BertHead::question_answering, false), {718, 3.45266778544, -0.440739521069});
}

TEST(ZooReference, HeadsOfBertForPacks) {
  expect_near(run_bert(BertHead::masked_language, true), {889, 3.59526783227, -0.435891337518});
  expect_near(run_bert(BertHead::classification, true), {799, 1.24057731783, 0.378135660033});
  expect_near(run_bert(BertHead::question_answering, true), {718, 1.54337988321, -0.311020756799});
}

}  // namespace
}  // namespace superstep
