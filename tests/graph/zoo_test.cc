// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/ops/op.h"

namespace superstep {
namespace {

TEST(Zoo, HasTheParametersOfThePublishedModels) {
  // Checkpoints with all heads: the exact numbers of the published weights.
  const std::map<std::string, std::int64_t> exact = {
      {"bert-base", 110106428},   {"bert-large", 336226108}, {"gpt2-small", 124439808},
      {"gpt2-medium", 354823168}, {"gpt2-large", 774030080}, {"gpt2-xl", 1557611200},
  };
  for (const auto& [name, parameters] : exact)
    EXPECT_EQ(build(zoo_spec(name), 1, DType::fp16).parameters(), parameters);
  // Papers, in billions.
  const std::map<std::string, double> rounded = {
      {"gpt3-2.7b", 2.65}, {"gpt3-6.7b", 6.66}, {"gpt3-13b", 12.85}, {"gpt3-175b", 174.6}, {"gpt-1t", 1008.0}};
  for (const auto& [name, billions] : rounded) {
    EXPECT_NEAR(static_cast<double>(build(zoo_spec(name), 1, DType::fp16).parameters()) / 1e9, billions,
                0.01 * billions);
  }
}

TEST(Zoo, GptHasTheParametersOfTheFormula) {
  const TransformerSpec s = zoo_spec("gpt3-175b");
  const std::int64_t h = s.hidden;
  EXPECT_EQ(build(s, 1, DType::fp16).parameters(),
            s.layers * (12 * h * h + 13 * h) + (s.vocabulary + s.positions) * h + 2 * h);
}

TEST(Zoo, EveryModelIsASoundGraphCutIntoThreeUnitsPerLayer) {
  for (const std::string& name : zoo_names()) {
    TransformerSpec spec = zoo_spec(name);
    EXPECT_FALSE(spec.source.empty()) << name;
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
  Graph graph = build(zoo_spec("bert-base"), 2, DType::fp16);
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
  const auto message = [](auto change) -> std::string {
    TransformerSpec spec = zoo_spec("gpt2-small");
    change(spec);
    try {
      build(spec, 1, DType::fp16);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](auto& s) { s.heads = 7; }), "gpt2-small: hidden 768 is not a multiple of heads 7");
  EXPECT_EQ(message([](auto& s) { s.sequence_length = 2048; }),
            "gpt2-small: sequence_length 2048 exceeds positions 1024");
  EXPECT_EQ(message([](auto& s) { s.layers = 0; }), "gpt2-small: layers must be at least 1, found 0");
  try {
    zoo_spec("bert-larg");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown model \"bert-larg\" (did you mean \"bert-large\"?)");
  }
}

TEST(Zoo, SplittingTheColumnsOfTheFusedWeightSplitsHeads) {
  // The reshape after the fused product lets its column dimension be cut into one part per head.
  const Graph graph = build(zoo_spec("bert-large"), 1, DType::fp16);
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
  TransformerSpec spec = zoo_spec("gpt2-small");
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
