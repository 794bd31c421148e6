// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"

namespace superstep {
namespace {

// What is said of a network whose numbers were changed so that they do not go together.
template <class Spec, class Change>
std::string refusal(Spec spec, const Change& change) {
  change(spec);
  try {
    build(spec, 1, DType::fp16);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Zoo, HasTheParametersOfThePublishedModels) {
  // Checkpoints with all heads: the exact numbers of the published weights.
  const std::map<std::string, std::int64_t> exact = {
      {"bert-base", 110106428},  {"bert-large", 336226108}, {"gpt2-small", 124439808}, {"gpt2-medium", 354823168},
      {"gpt2-large", 774030080}, {"gpt2-xl", 1557611200},   {"gptj-6b", 6050882784},
  };
  for (const auto& [name, parameters] : exact)
    EXPECT_EQ(build(transformer_spec(name), 1, DType::fp16).parameters(), parameters);
  // Papers, in billions.
  const std::map<std::string, double> rounded = {
      {"gpt3-2.7b", 2.65}, {"gpt3-6.7b", 6.66}, {"gpt3-13b", 12.85}, {"gpt3-175b", 174.6}, {"gpt-1t", 1008.0}};
  for (const auto& [name, billions] : rounded) {
    EXPECT_NEAR(static_cast<double>(build(transformer_spec(name), 1, DType::fp16).parameters()) / 1e9, billions,
                0.01 * billions);
  }
}

// It is megabytes, and a search has a graph for each size of micro-batch.
TEST(Zoo, GraphsOfOneModelShareTheCausalMask) {
  const auto mask = [](const Graph& graph) {
    for (const Tensor& t : graph.tensors) {
      if (t.name == "causal_mask") return t.data;
    }
    return std::shared_ptr<const Array>();
  };
  const TransformerSpec spec = transformer_spec("gpt2-small");
  const Graph one = build(spec, 1, DType::fp16), two = build(spec, 2, DType::fp16), wide = build(spec, 1, DType::fp32);
  ASSERT_NE(mask(one), nullptr);
  EXPECT_EQ(mask(one), mask(two));
  EXPECT_NE(mask(one), mask(wide));
  EXPECT_EQ(mask(one)->info.shape, (Shape{1, 1, spec.sequence_length, spec.sequence_length}));
  EXPECT_EQ(mask(one)->at(0), 0);
  EXPECT_LT(mask(one)->at(1), 0);
  EXPECT_EQ(mask(one)->at(spec.sequence_length), 0);
}

// Weights of torchvision's checkpoints, and of timm's resnext101_32x4d.
TEST(Zoo, ResNetHasTheParametersOfThePublishedModels) {
  const std::map<std::string, std::int64_t> exact = {{"resnet50", 25557032},
                                                     {"resnet101", 44549160},
                                                     {"resnet152", 60192808},
                                                     {"resnext50", 25028904},
                                                     {"resnext101", 44177704}};
  for (const auto& [name, parameters] : exact)
    EXPECT_EQ(build(resnet_spec(name), 1, DType::fp16).parameters(), parameters);
}

// Weights of torchvision's checkpoints.
TEST(Zoo, EfficientNetHasTheParametersOfThePublishedModels) {
  const std::map<std::string, std::int64_t> exact = {
      {"efficientnet-b0", 5288548},  {"efficientnet-b1", 7794184},  {"efficientnet-b2", 9109994},
      {"efficientnet-b3", 12233232}, {"efficientnet-b4", 19341616}, {"efficientnet-b5", 30389784},
      {"efficientnet-b6", 43040704}, {"efficientnet-b7", 66347960},
  };
  for (const auto& [name, parameters] : exact)
    EXPECT_EQ(build(efficientnet_spec(name), 1, DType::fp16).parameters(), parameters) << name;
}

TEST(Zoo, EfficientNetIsASoundGraphCutAtItsBlocks) {
  for (const char* name : {"efficientnet-b0", "efficientnet-b4-g16"}) {
    for (const GraphUse use : {GraphUse::training, GraphUse::inference}) {
      EfficientNetSpec spec = efficientnet_spec(name);
      spec.image_size = 64, spec.pixels = Pixels::uint8;
      const Graph graph = build(spec, 2, DType::fp16, use);
      check(graph);
      ASSERT_EQ(graph.units.size(), static_cast<std::size_t>(spec.blocks()) + 2);
      EXPECT_EQ(graph.units[UnitId(1)].name, "stage1/block0");
      EXPECT_EQ(graph.units.back().role, UnitRole::head);
      EXPECT_EQ(graph.loss.valid(), use == GraphUse::training);
      EXPECT_EQ(graph.info(graph.outputs.back()).shape, (Shape{2, 1000}));
    }
  }
  EXPECT_EQ(efficientnet_spec("efficientnet-b0").blocks(), 16);
  EXPECT_EQ(efficientnet_spec("efficientnet-b4").blocks(), 32);
}

// A factor per sample for the branch of every block that adds what it was given, rising over the 16 blocks of B0, of
// which 9 do and one of those is the first with ratio 0; another dropout ahead of the classes. None for inference.
TEST(Zoo, BranchesOfEfficientNetAreDroppedBySample) {
  const auto ratios = [](GraphUse use) {
    std::vector<double> found;
    const Graph graph = build(efficientnet_spec("efficientnet-b0"), 4, DType::fp16, use);
    for (const Op& op : graph.ops) {
      if (op.def->name != "dropout") continue;
      found.push_back(op.attrs.number("ratio"));
      const Shape of_samples{4, 1}, of_means{4, 1280};
      EXPECT_EQ(graph.info(op.outputs[0]).shape, found.back() < 0.2 ? of_samples : of_means);
    }
    return found;
  };
  const std::vector<double> found = ratios(GraphUse::training);
  ASSERT_EQ(found.size(), 10u);  // blocks 2, 4, 6, 7, 9, 10, 12, 13, 14, and the head
  EXPECT_DOUBLE_EQ(found[0], 0.2 * 2 / 16);
  EXPECT_DOUBLE_EQ(found[8], 0.2 * 14 / 16);
  EXPECT_DOUBLE_EQ(found[9], 0.2);
  EXPECT_TRUE(ratios(GraphUse::inference).empty());
}

// Blocks of a size share their code, though each drops another part of the samples. B0: stem, head, the first block of
// each of seven sizes and the further ones of five.
TEST(Zoo, EqualBlocksOfEfficientNetHaveEqualSignatures) {
  const auto distinct = [](EfficientNetSpec spec) {
    Graph graph = build(spec, 2, DType::fp16);
    add_optimizer(graph, add_gradients(graph), {.kind = "lars"});
    std::set<std::uint64_t> found;
    for (std::size_t u = 0; u < graph.units.size(); ++u) found.insert(signature(graph, UnitId(u)));
    return found.size();
  };
  EfficientNetSpec spec = efficientnet_spec("efficientnet-b0");
  EXPECT_EQ(distinct(spec), 14u);
  spec.depth_coefficient = 4;  // more of the same, and of the other two sizes
  EXPECT_EQ(distinct(spec), 16u);
}

TEST(Zoo, RefusesNumbersOfEfficientNetThatDoNotGoTogether) {
  const auto message = [](auto change) { return refusal(efficientnet_spec("efficientnet-b0"), change); };
  EXPECT_EQ(message([](auto& s) { s.group_size = 5; }),
            "efficientnet-b0: stage1/block0 has 32 channels, which are no groups of 5");
  EXPECT_EQ(message([](auto& s) { s.norm_groups = 3; }),
            "efficientnet-b0: norm_groups must divide 8, which widths are multiples of, found 3");
  EXPECT_THROW(efficientnet_spec("resnet50"), Error);
}

// As in torchvision's models of that name; a product of the patches in place of a convolution has as many.
TEST(Zoo, VisionTransformersHaveTheirParametersAndTokens) {
  EXPECT_EQ(build(vit_spec("vit-base"), 1, DType::fp16).parameters(), 86567656);
  EXPECT_EQ(build(vit_spec("vit-large"), 1, DType::fp16).parameters(), 304326632);
  EXPECT_EQ(vit_spec("vit-base").tokens(), 197);
  for (const GraphUse use : {GraphUse::training, GraphUse::inference}) {
    VitSpec spec = vit_spec("vit-base");
    spec.layers = 2, spec.pixels = Pixels::uint8;
    const Graph graph = build(spec, 3, DType::fp16, use);
    EXPECT_EQ(graph.info(graph.outputs.back()).shape, (Shape{3, 1000}));
    EXPECT_EQ(graph.loss.valid(), use == GraphUse::training);
    EXPECT_EQ(graph.units.size(), 8u);
  }
  VitSpec spec = vit_spec("vit-base");
  spec.patch = 15;
  EXPECT_THROW(build(spec, 1, DType::fp16), Error);
  EXPECT_THROW(vit_spec("resnet50"), Error);
}

TEST(Zoo, VisionTransformersDropAndPreTrainAsTold) {
  const auto count = [](const VitSpec& spec, const std::string& kind) {
    const Graph graph = build(spec, 1, DType::fp16);
    std::int64_t n = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) n += graph.ops[OpId(i)].def->name == kind;
    return n;
  };
  VitSpec spec = vit_spec("vit-base");
  // After the embedding, and in each layer after the attention's result and both products of the feed-forward part.
  EXPECT_EQ(count(spec, "dropout"), 1 + 12 * 3);
  spec.attention_dropout = 0.1;
  EXPECT_EQ(count(spec, "dropout"), 1 + 12 * 4);
  spec.dropout = 0;
  EXPECT_EQ(count(spec, "dropout"), 12);
  EXPECT_EQ(count(spec, "tanh"), 0);
  const std::int64_t plain = build(spec, 1, DType::fp16).parameters();
  spec.representation = 768;
  EXPECT_EQ(count(spec, "tanh"), 1);
  EXPECT_EQ(build(spec, 1, DType::fp16).parameters() - plain, 768 * 768 + 768);
}

// Per layer of the encoder 2 x 1050880 of its feed-forward parts, 329216 of attention, 200448 of the convolution and
// 3072 of norms; of the decoder 2 x 263168 + 1050880 + 1536; 1838080 ahead of them, 512 and 1083648 between, 512 and 2
// x 1087881 behind. ESPnet gives 46.2 million for its network of these numbers.
TEST(Zoo, ConformerHasItsParametersAndUnits) {
  const ConformerSpec spec = conformer_spec("conformer-m");
  EXPECT_EQ(build(spec, 1, DType::fp16).parameters(), 12 * (2 * 1050880 + 329216 + 200448 + 3072) +
                                                          6 * (2 * 263168 + 1050880 + 1536) + 1838080 + 512 + 1083648 +
                                                          512 + 2 * 1087881);
  for (const GraphUse use : {GraphUse::training, GraphUse::inference}) {
    const Graph graph = build(spec, 2, DType::fp16, use);
    check(graph);
    ASSERT_EQ(graph.units.size(), 2u + 12 * 4 + 6 * 3);
    EXPECT_EQ(graph.units[UnitId(3)].name, "encoder0/convolution");
    EXPECT_EQ(graph.units[UnitId(1 + 12 * 4)].name, "decoder0/attention");
    EXPECT_EQ(graph.units[UnitId(1 + 12 * 4)].layer, 12);
    EXPECT_EQ(graph.info(graph.outputs.back()).shape, (Shape{2, 48, 4233}));
    EXPECT_EQ(graph.loss.valid(), use == GraphUse::training);
    for (TensorId t : graph.inputs) EXPECT_EQ(graph.info(t).shape[0], 2) << graph.tensors[t].name;
  }
}

TEST(Zoo, EqualLayersOfConformerHaveEqualSignatures) {
  Graph graph = build(conformer_spec("conformer-m"), 2, DType::fp16);
  add_optimizer(graph, add_gradients(graph), {.kind = "adam"});
  std::set<std::uint64_t> distinct;
  for (std::size_t u = 0; u < graph.units.size(); ++u) distinct.insert(signature(graph, UnitId(u)));
  // Embedding, head, four parts of the encoder and three of the decoder; the encoder's last part and the decoder's
  // first.
  EXPECT_EQ(distinct.size(), 11u);
}

TEST(Zoo, RefusesNumbersOfConformerThatDoNotGoTogether) {
  const auto message = [](auto change) { return refusal(conformer_spec("conformer-m"), change); };
  EXPECT_EQ(message([](auto& s) { s.heads = 7; }), "conformer-m: hidden 256 is not a multiple of heads 7");
  EXPECT_EQ(message([](auto& s) { s.kernel = 4; }), "conformer-m: kernel must be odd, found 4");
  EXPECT_EQ(message([](auto& s) { s.frames = 6; }),
            "conformer-m: frames and features must be at least 7, found 6 and 80");
  EXPECT_THROW(conformer_spec("vit-base"), Error);
}

// 4.09 billion multiply-adds per image, as published for version 1.5 (version 1: 3.86).
TEST(Zoo, ResNet50HasTheMultiplyAddsOfVersionOneAndAHalf) {
  const Graph graph = build(resnet_spec("resnet50"), 1, DType::fp16);
  double multiply_adds = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (!op.def->product) continue;
    // A result element for each of its own; contracted are the weight's other elements.
    const TensorId weight = op.inputs[1], result = op.outputs[0];
    const std::size_t columns = op.def->name == "conv" ? 0 : 1;
    const Shape& shape = graph.info(weight).shape;
    multiply_adds +=
        static_cast<double>(graph.info(result).elements()) * static_cast<double>(volume(shape) / shape[columns]);
  }
  EXPECT_NEAR(multiply_adds / 1e9, 4.09, 0.005);
}

TEST(Zoo, ResNetIsASoundGraphCutAtItsBlocks) {
  for (const GraphUse use : {GraphUse::training, GraphUse::inference}) {
    const Graph graph = build(resnet_spec("resnet50"), 2, DType::fp16, use);
    check(graph);
    ASSERT_EQ(graph.units.size(), 18u);
    EXPECT_EQ(graph.units[UnitId(0)].name, "stem");
    EXPECT_EQ(graph.units[UnitId(0)].layer, -1);
    EXPECT_EQ(graph.units[UnitId(1)].name, "stage1/block0");
    EXPECT_EQ(graph.units[UnitId(4)].name, "stage2/block0");
    EXPECT_EQ(graph.units[UnitId(16)].name, "stage4/block2");
    EXPECT_EQ(graph.units[UnitId(16)].layer, 15);
    EXPECT_EQ(graph.units[UnitId(17)].role, UnitRole::head);
    EXPECT_EQ(graph.loss.valid(), use == GraphUse::training);
    EXPECT_EQ(graph.info(graph.outputs.back()).shape, (Shape{2, 1000}));
  }
}

TEST(Zoo, BlocksOfResNetShareCheckpointsAsTold) {
  ResNetSpec spec = resnet_spec("resnet50");
  const auto checkpoints = [&] {
    const Graph graph = build(spec, 1, DType::fp16);
    std::vector<std::int64_t> found;
    for (const Unit& unit : graph.units) found.push_back(checkpoint_of(unit));
    return found;
  };
  EXPECT_EQ(checkpoints(), (std::vector<std::int64_t>{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -1}));
  spec.blocks_per_checkpoint = {1, 2, 1, 2, 2, 3, 5};
  EXPECT_EQ(checkpoints(), (std::vector<std::int64_t>{0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6, 6}));
}

TEST(Zoo, ResNetIsFoldedForInference) {
  ResNetSpec spec = resnet_spec("resnet50");
  spec.statistics_group = 4;
  const Graph training = build(spec, 2, DType::fp16);
  const Graph inference = build(spec, 2, DType::fp16, GraphUse::inference);
  EXPECT_EQ(training.statistics_group, 4);
  EXPECT_EQ(inference.statistics_group, 0);
  EXPECT_EQ(inference.inputs.size(), 1u);  // no labels
  // A bias for each of 53 convolutions instead of a factor and a term: so many channels they have.
  EXPECT_EQ(training.parameters() - inference.parameters(), 26560);
  for (const Op& op : inference.ops) {
    if (op.def->name != "reduce") continue;
    EXPECT_EQ(op.attrs.integer("across"), 0) << op.name;
  }
}

TEST(Zoo, BytesAreNormalisedOnTheIpu) {
  ResNetSpec spec = resnet_spec("resnet50");
  spec.pixels = Pixels::uint8;
  const Graph graph = build(spec, 1, DType::fp32);
  EXPECT_EQ(graph.info(graph.inputs[0]).type, DType::uint8);
  EXPECT_EQ(graph.info(graph.inputs[0]).bytes(), Bytes(3 * 224 * 224));
  // Three ops ahead of the first convolution: cast, factor, term. The brightest red becomes (1 - 0.485) / 0.229.
  std::vector<std::string> ops;
  double value = 255;
  for (const Op& op : graph.ops) {
    if (op.def->name == "conv") break;
    ops.emplace_back(op.def->name);
    if (op.inputs.size() < 2) continue;
    const double constant = graph.tensors[op.inputs[1]].data->at(0);
    value = op.def->name == "mul" ? value * constant : value + constant;
  }
  EXPECT_EQ(ops, (std::vector<std::string>{"cast", "mul", "add"}));
  EXPECT_NEAR(value, (1 - 0.485) / 0.229, 1e-6);
}

TEST(Zoo, EqualBlocksOfResNetHaveEqualSignatures) {
  Graph graph = build(resnet_spec("resnet50"), 2, DType::fp16);
  add_optimizer(graph, add_gradients(graph), {.kind = "sgd_momentum"});
  std::set<std::uint64_t> distinct;
  for (std::size_t u = 0; u < graph.units.size(); ++u) distinct.insert(signature(graph, UnitId(u)));
  // Stem, head, and of each size the first block and the others; the last block's result is not added to another's.
  EXPECT_EQ(distinct.size(), 11u);
}

TEST(Zoo, GptHasTheParametersOfTheFormula) {
  const TransformerSpec s = transformer_spec("gpt3-175b");
  const std::int64_t h = s.hidden;
  EXPECT_EQ(build(s, 1, DType::fp16).parameters(),
            s.layers * (12 * h * h + 13 * h) + (s.vocabulary + s.positions) * h + 2 * h);
}

TEST(Zoo, EveryTransformerIsASoundGraphCutIntoThreeUnitsPerLayer) {
  for (const std::string& name : zoo_names()) {
    const ZooSpec any = zoo_spec(name);
    EXPECT_FALSE(source_of(any).empty()) << name;
    if (!std::holds_alternative<TransformerSpec>(any)) continue;
    TransformerSpec spec = std::get<TransformerSpec>(any);
    spec.layers = 2;
    const Graph graph = build(spec, 2, DType::fp16);
    check(graph);
    std::vector<std::string> units;
    for (const Unit& unit : graph.units) units.push_back(unit.name);
    EXPECT_EQ(units, (std::vector<std::string>{"embedding", "layer0/attention", "layer0/ffn_up", "layer0/ffn_down",
                                               "layer1/attention", "layer1/ffn_up", "layer1/ffn_down", "head"}));
    EXPECT_EQ(graph.units[UnitId(2)].layer, 0);
    EXPECT_EQ(graph.units[UnitId(0)].layer, -1);
    for (TensorId t : graph.inputs) EXPECT_EQ(graph.info(t).shape[0], 2) << graph.tensors[t].name;
  }
}

TEST(Zoo, EqualLayersHaveEqualSignaturesWithGradientsAndUpdates) {
  Graph graph = build(transformer_spec("bert-base"), 2, DType::fp16);
  add_optimizer(graph, add_gradients(graph), {.kind = "lamb"});
  std::set<std::uint64_t> distinct;
  for (std::size_t u = 0; u < graph.units.size(); ++u) distinct.insert(signature(graph, UnitId(u)));
  EXPECT_EQ(distinct.size(), 5u);  // embedding, three per layer, head
}

TEST(Signature, SeesAttributesShapesAndWiring) {
  const auto of = [](auto make) {
    Graph graph;
    GraphBuilder b(graph);
    b.begin_unit("u");
    make(b, b.input("x", DType::fp32, {4, 4}), b.input("y", DType::fp32, {4, 4}));
    return signature(graph, UnitId(0));
  };
  const auto base = of([](GraphBuilder& b, TensorId x, TensorId y) { b.binary("sub", x, y); });
  EXPECT_EQ(base, of([](GraphBuilder& b, TensorId x, TensorId y) { b.one("sub", {y, x}, {}, "other_name"); }));
  EXPECT_NE(base, of([](GraphBuilder& b, TensorId x, TensorId) { b.binary("sub", x, x); }));
  EXPECT_NE(base, of([](GraphBuilder& b, TensorId x, TensorId y) { b.binary("add", x, y); }));
  const auto scaled = [](double factor) {
    return [factor](GraphBuilder& b, TensorId x, TensorId) { b.scale(x, factor); };
  };
  EXPECT_EQ(of(scaled(2)), of(scaled(2)));
  EXPECT_NE(of(scaled(2)), of(scaled(3)));
}

TEST(Zoo, RefusesNumbersThatDoNotGoTogether) {
  const auto message = [](auto change) { return refusal(transformer_spec("gpt2-small"), change); };
  EXPECT_EQ(message([](auto& s) { s.heads = 7; }), "gpt2-small: hidden 768 is not a multiple of heads 7");
  EXPECT_EQ(message([](auto& s) { s.sequence_length = 2048; }),
            "gpt2-small: sequence_length 2048 exceeds positions 1024");
  EXPECT_EQ(message([](auto& s) { s.layers = 0; }), "gpt2-small: layers must be at least 1, found 0");
  try {
    transformer_spec("bert-larg");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown model \"bert-larg\" (did you mean \"bert-large\"?)");
  }
}

TEST(Zoo, RefusesNumbersOfImageNetworksThatDoNotGoTogether) {
  const auto message = [](auto change) { return refusal(resnet_spec("resnet50"), change); };
  EXPECT_EQ(message([](auto& s) { s.blocks = {3, 4, 6}; }), "resnet50: blocks must be 4 numbers, found 3");
  EXPECT_EQ(message([](auto& s) {
              s.blocks_per_checkpoint = {8, 9};
            }),
            "resnet50: blocks_per_checkpoint has 17 blocks in all, expected the 16 of the network");
  EXPECT_EQ(message([](auto& s) { s.groups = 48; }),
            "resnet50: groups 48 does not divide the 64 channels within the first blocks");
  EXPECT_EQ(message([](auto& s) { s.classes = 0; }), "resnet50: classes must be at least 1, found 0");
  EXPECT_THROW(transformer_spec("resnet50"), Error);
  EXPECT_THROW(resnet_spec("bert-base"), Error);
}

TEST(Zoo, SplittingTheColumnsOfTheFusedWeightSplitsHeads) {
  // The reshape after the fused product lets its column dimension be cut into one part per head.
  const Graph graph = build(transformer_spec("bert-large"), 1, DType::fp16);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.def->name != "reshape" || graph.info(op.outputs[0]).shape != Shape{1, 512, 16, 3, 64}) continue;
    const CallOf call(graph, OpId(i));
    const Space space = op.def->space(*call);
    EXPECT_EQ(space.axes.back().extent, 16);
    EXPECT_EQ(space.in[0].back().span, 192);
    return;
  }
  FAIL() << "no such reshape";
}

// Compares with the file, or rewrites it when SUPERSTEP_UPDATE_GOLDEN is set.
TEST(Zoo, PrintsAsBefore) {
  TransformerSpec spec = transformer_spec("gpt2-small");
  spec.layers = 1;
  spec.sequence_length = 128;
  Graph graph = build(spec, 2, DType::fp16);
  add_optimizer(graph, add_gradients(graph), {.kind = "sgd_momentum", .weight_decay = 1e-4});
  std::ostringstream text;
  print(text, graph);
  const std::string path = std::string(SUPERSTEP_TEST_DATA) + "/golden/gpt2_one_layer.txt";
  if (std::getenv("SUPERSTEP_UPDATE_GOLDEN")) std::ofstream(path) << text.str();
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text.str(), expected.str());
}

}  // namespace
}  // namespace superstep
