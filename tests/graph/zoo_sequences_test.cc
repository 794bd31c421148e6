// SPDX-License-Identifier: Apache-2.0
// T5, recurrent language models, Deep Voice 3 and the Hamiltonian Monte Carlo sampler of the zoo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "model/error.h"
#include "model/execute/evaluate.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/zoo/zoo.h"

namespace superstep {
namespace {

// The published checkpoints.
TEST(ZooT5, HasTheParametersOfThePublishedModels) {
  const std::map<std::string, std::int64_t> exact = {
      {"t5-small", 60506624},  {"t5-base", 222903552}, {"t5-large", 737668096}, {"t5-3b", 2851598336},
      {"t5-11b", 11307321344}, {"t5-xl", 2849757184},  {"t5-xxl", 11135332352}};
  for (const auto& [name, parameters] : exact)
    EXPECT_EQ(build(t5_spec(name), 1, DType::fp16).parameters(), parameters) << name;
}

T5Spec small_t5(bool gated) {
  T5Spec spec = t5_spec(gated ? "t5-xxl" : "t5-small");
  spec.layers = 2, spec.hidden = 16, spec.heads = 2, spec.head_size = 8, spec.ffn = 32, spec.vocabulary = 40;
  spec.sequence_length = 6, spec.target_length = 5, spec.dropout = 0;
  return spec;
}

Array numbers(const TensorInfo& info, std::mt19937& random) {
  Array array(info);
  std::normal_distribution<double> normal(0, 0.5);
  for (std::int64_t i = 0; i < info.elements(); ++i)
    array.set(i, info.type == DType::int32 ? static_cast<double>(random() % 5) : normal(random));
  return array;
}

Values random_feeds(const Graph& graph) {
  std::mt19937 random(3);
  Values feeds;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorId t(static_cast<std::int32_t>(i));
    const TensorKind kind = graph.tensors[t].kind;
    if (kind == TensorKind::input || kind == TensorKind::weight) feeds[t] = numbers(graph.info(t), random);
  }
  return feeds;
}

TensorId named(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorId t(static_cast<std::int32_t>(i));
    if (graph.tensors[t].name == name) return t;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// The decoder must not see what it is to write, nor padding of what it reads.
TEST(ZooT5, TheDecoderReadsAllOfTheInputAndOnlyThePastOfTheOutput) {
  for (const bool gated : {false, true}) {
    const Graph graph = build(small_t5(gated), 1, DType::fp64);
    check(graph);
    const TensorId logits = graph.outputs.back(), read = named(graph, "tokens"),
                   written = named(graph, "decoder_tokens"), mask = named(graph, "mask");
    Values feeds = random_feeds(graph);
    feeds[mask] = Array::from(DType::fp64, {1, 6}, {1, 1, 1, 1, 1, 0});  // the last token is padding
    const std::vector<double> before = evaluate(graph, feeds, {}).at(logits).values();
    const auto changed = [&](TensorId which, std::int64_t at) {  // first position of the output that changes
      Values other = feeds;
      other[which].set(at, feeds.at(which).at(at) + 7);
      const std::vector<double> after = evaluate(graph, other, {}).at(logits).values();
      std::size_t first = 0;
      while (first < after.size() && after[first] == before[first]) ++first;
      return static_cast<std::int64_t>(first) / 40;
    };
    for (std::int64_t position = 0; position < 5; ++position) {
      EXPECT_EQ(changed(written, position), position);
      EXPECT_EQ(changed(read, position), 0);
    }
    EXPECT_EQ(changed(read, 5), 5) << "padding was read";
  }
}

// Distances as the published model counts them: one row each up to 8, then ranges up to 128.
TEST(ZooT5, DistancesHaveTheRowsOfThePublishedModel) {
  T5Spec spec = small_t5(false);
  spec.sequence_length = spec.target_length = 160;
  const Graph graph = build(spec, 1, DType::fp32);
  const Array& both = *graph.tensors[named(graph, "encoder_distances")].data;
  const Array& past = *graph.tensors[named(graph, "decoder_distances")].data;
  const auto row = [](const Array& rows, std::int64_t query, std::int64_t key) { return rows.at(query * 160 + key); };
  EXPECT_EQ(row(both, 0, 0), 0);
  EXPECT_EQ(row(both, 7, 0), 7);
  EXPECT_EQ(row(both, 8, 0), 8);
  EXPECT_EQ(row(both, 0, 1), 17);
  EXPECT_EQ(row(both, 0, 8), 24);
  EXPECT_EQ(row(both, 150, 0), 15);
  EXPECT_EQ(row(both, 0, 150), 31);
  EXPECT_EQ(row(past, 15, 0), 15);
  EXPECT_EQ(row(past, 16, 0), 16);
  EXPECT_EQ(row(past, 159, 0), 31);
  EXPECT_EQ(row(past, 0, 9), 0);  // what is to come is masked
}

// Of equal tokens, a query and a key differ by their positions alone, and only the distance counts.
TEST(ZooGptJ, ScoresOfEqualTokensDependOnTheirDistance) {
  TransformerSpec spec = transformer_spec("gptj-6b");
  spec.layers = 1, spec.hidden = 24, spec.heads = 2, spec.ffn = 8, spec.vocabulary = 11;
  spec.sequence_length = spec.positions = 7;
  const Graph graph = build(spec, 1, DType::fp64);
  check(graph);
  Values feeds = random_feeds(graph);
  feeds[named(graph, "tokens")] = Array(TensorInfo{DType::int32, {1, 7}});
  const Array scores = evaluate(graph, feeds, {}).at(named(graph, "layer0/attention/scores"));
  const auto at = [&](std::int64_t query, std::int64_t key) { return scores.at(query * 7 + key); };
  for (std::int64_t query = 1; query < 7; ++query) {
    for (std::int64_t key = 1; key < 7; ++key) EXPECT_NEAR(at(query, key), at(query - 1, key - 1), 1e-12);
  }
  EXPECT_GT(std::abs(at(3, 0) - at(0, 0)), 1e-6);
}

// The published checkpoints.
TEST(ZooLlama, HasTheParametersOfThePublishedModels) {
  const std::map<std::string, std::int64_t> exact = {
      {"llama2-7b", 6738415616},   {"llama2-13b", 13015864320}, {"llama2-70b", 68976648192}, {"llama3-8b", 8030261248},
      {"llama3-70b", 70553706496}, {"llama3.2-1b", 1235814400}, {"llama3.2-3b", 3212749824}, {"mistral-7b", 7241732096},
      {"qwen2.5-0.5b", 494032768}, {"qwen2.5-7b", 7615616512},  {"qwen3-0.6b", 596049920},   {"qwen3-8b", 8190735360}};
  for (const auto& [name, parameters] : exact) {
    LlamaSpec spec = llama_spec(name);
    spec.sequence_length = 4;
    EXPECT_EQ(build(spec, 1, DType::fp16).parameters(), parameters) << name;
  }
}

TEST(ZooLlama, RefusesHeadsThatDoNotGoTogether) {
  const auto refusal = [](const nlohmann::json& numbers) {
    JsonReader reader(numbers, "model");
    ZooSpec spec = zoo_spec("llama3-8b");
    try {
      override_numbers(reader, spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({{"heads", 12}}), testing::HasSubstr("found 8, which does not divide the 12 heads"));
  EXPECT_THAT(refusal({{"head_size", 7}}), testing::HasSubstr("expected an even number"));
  EXPECT_EQ(refusal({{"heads", 4}}), "");  // each with a key and value of its own
}

// 20 and 66 million, as published.
TEST(ZooLstm, HasTheParametersOfThePaper) {
  EXPECT_EQ(build(lstm_spec("lstm"), 1, DType::fp16).parameters(), 19775200);
  EXPECT_EQ(build(lstm_spec("lstm-large"), 1, DType::fp16).parameters(), 66022000);
  const Graph graph = build(lstm_spec("lstm"), 2, DType::fp16);
  check(graph);
  EXPECT_EQ(graph.info(graph.outputs.back()).shape, (Shape{2, 35, 10000}));
}

TEST(ZooDeepVoice, MakesSpectrogramsAndCountsOnlyWhatIsNotDone) {
  DeepVoiceSpec spec = deep_voice_spec("deepvoice3");
  spec.hidden = spec.encoder_channels = spec.decoder_channels = 8;
  spec.encoder_blocks = spec.decoder_blocks = spec.converter_blocks = 2;
  spec.text = 6, spec.frames = 7, spec.dropout = 0;
  const Graph plain = build(spec, 2, DType::fp32, GraphUse::inference);
  EXPECT_EQ(plain.info(plain.outputs[0]).shape, (Shape{2, 80, 7, 1}));
  EXPECT_EQ(plain.info(plain.outputs[1]).shape, (Shape{2, 513, 7, 1}));
  EXPECT_EQ(plain.info(plain.outputs[2]).shape, (Shape{2, 1, 7, 1}));
  const Graph graph = build(spec, 1, DType::fp64);
  check(graph);
  EXPECT_EQ(graph.parameters(), plain.parameters());
  Values feeds = random_feeds(graph);
  const TensorId mel = named(graph, "mel"), done = named(graph, "done"), linear = named(graph, "linear");
  feeds[done] = Array::from(DType::fp64, {1, 1, 7, 1}, {0, 0, 0, 0, 1, 1, 1});
  const double loss = evaluate(graph, feeds, {}).at(graph.loss).at(0);
  EXPECT_TRUE(std::isfinite(loss));
  const auto moved = [&](TensorId which, std::int64_t frame) {
    Values other = feeds;
    other[which].set(frame, feeds.at(which).at(frame) + 1);
    return evaluate(graph, other, {}).at(graph.loss).at(0) != loss;
  };
  EXPECT_TRUE(moved(linear, 3));
  EXPECT_FALSE(moved(linear, 5));  // behind the end
  EXPECT_FALSE(moved(linear, 0));  // nothing foretells the first frame
  EXPECT_TRUE(moved(mel, 0));      // it is read
}

// The decoder is causal, the converter is not.
TEST(ZooDeepVoice, TheDecoderReadsOnlyThePast) {
  DeepVoiceSpec spec = deep_voice_spec("deepvoice3");
  spec.hidden = spec.encoder_channels = spec.decoder_channels = 8;
  spec.encoder_blocks = spec.decoder_blocks = spec.converter_blocks = 2;
  spec.text = 6, spec.frames = 7, spec.dropout = 0;
  const Graph graph = build(spec, 1, DType::fp64, GraphUse::inference);
  const Values feeds = random_feeds(graph);
  const TensorId mel = named(graph, "mel"), made = graph.outputs[0], linear = graph.outputs[1];
  const Values before = evaluate(graph, feeds, {});
  Values other = feeds;
  other[mel].set(4, feeds.at(mel).at(4) + 1);  // band 0 of frame 4
  const Values after = evaluate(graph, other, {});
  for (std::int64_t frame = 0; frame < 7; ++frame) {
    EXPECT_EQ(after.at(made).at(frame) == before.at(made).at(frame), frame < 4) << frame;
    EXPECT_EQ(after.at(linear).at(frame) == before.at(linear).at(frame), frame < 0) << frame;
  }
}

// The sampler's energy in plain loops: minus the logarithm of the density, less a constant.
struct Sampler {
  HmcSpec spec = hmc_spec("mcmc-hmc");
  Graph graph;
  Values feeds;

  explicit Sampler(std::int64_t steps, double step_size) {
    spec.features = 3, spec.hidden = 2, spec.items = 5, spec.leapfrog_steps = steps, spec.step_size = step_size;
    graph = build(spec, 1, DType::fp64, GraphUse::inference);
    check(graph);
    feeds = random_feeds(graph);
    Array& features = feeds[named(graph, "data/features")];
    for (std::int64_t i = 0; i < features.info.elements(); ++i) features.set(i, 1000 * features.at(i));
    feeds[named(graph, "uniform")].set(0, 1e-300);
  }
  std::vector<double> place() const { return feeds.at(named(graph, "position")).values(); }
  std::vector<double> pace() const { return feeds.at(named(graph, "momentum")).values(); }

  double energy(const std::vector<double>& q) const {
    const Array &features = feeds.at(named(graph, "data/features")), &returns = feeds.at(named(graph, "data/returns"));
    double sum = 0;
    for (std::int64_t i = 0; i < 5; ++i) {
      double plain = q[10];  // 6 input weights, 2 biases, 2 output weights, then its bias, scale and shift
      for (std::size_t h = 0; h < 2; ++h) {
        double z = q[6 + h];
        for (std::size_t f = 0; f < 3; ++f)
          z += 0.001 * features.at(i * 3 + static_cast<std::int64_t>(f)) * q[f * 2 + h];
        plain += std::tanh(z) * q[8 + h];
      }
      const double error = (plain * q[11] + q[12] - returns.at(i)) / 100;
      sum += 3.2 / 2 * std::log(1 + error * error / 2.2);
    }
    for (double each : q) sum += each * each / (2 * 200.0 * 200.0);
    return sum;
  }
  std::vector<double> next() const { return evaluate(graph, feeds, {}).at(graph.outputs[0]).values(); }
};

// q' = q + e (p - e/2 slope(q)): the proposal gives the slope away.
TEST(ZooSampler, ItsSlopeIsThatOfTheEnergy) {
  const double e = 10;
  const Sampler sampler(1, e);
  const std::vector<double> q = sampler.place(), p = sampler.pace(), next = sampler.next();
  ASSERT_EQ(q.size(), 13u);
  for (std::size_t k = 0; k < q.size(); ++k) {
    std::vector<double> above = q, below = q;
    above[k] += 1e-4, below[k] -= 1e-4;
    const double slope = (sampler.energy(above) - sampler.energy(below)) / 2e-4;
    EXPECT_NEAR((p[k] - (next[k] - q[k]) / e) * 2 / e, slope, 1e-7 + 1e-5 * std::abs(slope)) << k;
  }
}

// Leapfrog steps keep the energy to second order, so that small ones are accepted nearly always.
TEST(ZooSampler, AcceptsWhatKeepsTheEnergyAndElseStays) {
  Sampler small(8, 0.01);
  small.feeds[named(small.graph, "uniform")].set(0, 0.999);
  EXPECT_NE(small.next(), small.place());
  EXPECT_EQ(evaluate(small.graph, small.feeds, {}).at(small.graph.outputs[1]).at(0), 1);
  Sampler large(8, 2000);
  large.feeds[named(large.graph, "uniform")].set(0, 0.999);
  EXPECT_EQ(large.next(), large.place());
  EXPECT_EQ(evaluate(large.graph, large.feeds, {}).at(large.graph.outputs[1]).at(0), 0);
}

}  // namespace
}  // namespace superstep
