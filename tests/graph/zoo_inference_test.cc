// SPDX-License-Identifier: Apache-2.0
// What networks of the zoo end in when nothing is trained, and the heads of BERT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/error.h"
#include "model/execute/evaluate.h"
#include "model/graph/op_def.h"
#include "model/zoo/zoo.h"
#include "tests/graph/numbers.h"

namespace superstep {
namespace {

std::set<std::string> inputs_of(const Graph& graph) {
  std::set<std::string> names;
  for (const TensorId t : graph.inputs) names.insert(graph.tensors[t].name);
  return names;
}

// Returns the values of a graph's inputs and weights, taken by name from those of another.
Values by_name(const Graph& graph, const Graph& other, const Values& values) {
  std::map<std::string, TensorId> known;
  for (const auto& [t, value] : values) known[other.tensors[t].name] = t;
  Values out;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::input || tensor.kind == TensorKind::weight)
      out[TensorId(i)] = values.at(known.at(tensor.name));
  }
  return out;
}

TransformerSpec tiny_without_dropout(const std::string& name) {
  TransformerSpec spec = tiny(name);
  spec.dropout = spec.attention_dropout = 0;
  return spec;
}

std::vector<ZooSpec> language_models() {
  T5Spec t5 = t5_spec("t5-small");
  t5.layers = 1, t5.hidden = 8, t5.heads = 2, t5.head_size = 4, t5.ffn = 12, t5.vocabulary = 17;
  t5.sequence_length = 5, t5.target_length = 4, t5.dropout = 0;
  LstmSpec lstm = lstm_spec("lstm");
  lstm.hidden = 8, lstm.vocabulary = 17, lstm.steps = 4, lstm.dropout = 0;
  return {tiny_without_dropout("gpt2-small"), tiny_without_dropout("gptj-6b"), t5, lstm};
}

// The scores of the token after the last one are those that training has for the last token.
TEST(ZooInference, LanguageModelsScoreTheNextToken) {
  for (const ZooSpec& spec : language_models()) {
    SCOPED_TRACE(name_of(spec));
    const Graph training = build(spec, 2, DType::fp64), graph = build(spec, 2, DType::fp64, GraphUse::inference);
    check(graph);
    EXPECT_FALSE(graph.loss.valid());
    EXPECT_FALSE(inputs_of(graph).contains("labels"));
    EXPECT_EQ(graph.parameters(), training.parameters());
    ASSERT_EQ(graph.outputs.size(), 1u);
    ASSERT_EQ(graph.info(graph.outputs[0]).shape, (Shape{2, 17}));
    const Values feeds = random_feeds(training, 5, 17);
    const Array all = evaluate(training, feeds, {}).at(training.outputs[1]);
    const Array next = evaluate(graph, by_name(graph, training, feeds), {}).at(graph.outputs[0]);
    const std::int64_t tokens = training.info(training.outputs[1]).shape[1];
    for (std::int64_t sample = 0; sample < 2; ++sample) {
      for (std::int64_t word = 0; word < 17; ++word)
        EXPECT_EQ(next.at(sample * 17 + word), all.at((sample * tokens + tokens - 1) * 17 + word));
    }
  }
}

struct HeadOfBert {
  BertHead head;
  std::int64_t masked_tokens;
  std::vector<Shape> packed;     // results for packs
  std::set<std::string> inputs;  // in inference, beside those of the embedding
  std::set<std::string> labels;  // in training
};

TEST(ZooInference, HeadsOfBertEndInTheirScores) {
  const HeadOfBert heads[] = {
      {BertHead::masked_language,
       3,
       {{2, 3, 17}, {2, 3, 2}},
       {"masked_positions", "first_positions"},
       {"masked_labels", "next_sentence_labels"}},
      {BertHead::masked_language, 0, {{2, 3, 2}}, {"first_positions"}, {"next_sentence_labels"}},
      {BertHead::question_answering, 0, {{2, 3, 6}, {2, 3, 6}}, {}, {"start_positions", "end_positions"}},
      {BertHead::classification, 0, {{2, 3, 4}}, {"first_positions"}, {"labels"}},
      {BertHead::embeddings, 0, {{2, 3, 12}}, {}, {}},
  };
  for (const HeadOfBert& h : heads) {
    for (const bool packed : {true, false}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(h.head) << ' ' << h.masked_tokens << ' ' << packed);
      TransformerSpec spec = tiny_without_dropout("bert-base");
      spec.head = h.head, spec.masked_tokens = h.masked_tokens, spec.classes = 4, spec.packed = packed;
      const Graph graph = build(spec, 2, DType::fp16, GraphUse::inference);
      check(graph);
      EXPECT_FALSE(graph.loss.valid());
      std::vector<Shape> shapes = h.packed;
      std::set<std::string> inputs = h.inputs;
      inputs.insert({"tokens", "segments"});
      if (packed) {
        inputs.insert({"sequences", "positions"});
      } else {
        inputs.insert("mask");
        inputs.erase("first_positions");
        for (Shape& shape : shapes) {
          if (shape != Shape{2, 3, 17}) shape[1] = 1;
        }
      }
      std::vector<Shape> found;
      for (const TensorId t : graph.outputs) found.push_back(graph.info(t).shape);
      EXPECT_EQ(found, shapes);
      EXPECT_EQ(inputs_of(graph), inputs);
      if (h.labels.empty()) continue;
      inputs.insert(h.labels.begin(), h.labels.end());
      EXPECT_EQ(inputs_of(build(spec, 2, DType::fp16)), inputs);
    }
  }
}

// The tokens of another sequence cannot be an answer.
TEST(ZooInference, AnswersAreTokensOfTheirOwnSequence) {
  TransformerSpec spec = tiny_without_dropout("bert-base");
  spec.head = BertHead::question_answering, spec.packed = true, spec.masked_tokens = 0;
  const Graph graph = build(spec, 1, DType::fp64, GraphUse::inference);
  Values feeds = random_feeds(graph, 7, 6);
  for (auto& [t, value] : feeds) {
    if (graph.tensors[t].name == "sequences") value = Array::from(DType::int32, {1, 6}, {1, 1, 2, 2, 2, 3});
  }
  const Array starts = evaluate(graph, feeds, {}).at(graph.outputs[0]);
  const std::int64_t sequence_of[] = {0, 0, 1, 1, 1, 2};
  for (std::int64_t sequence = 0; sequence < 3; ++sequence) {
    for (std::int64_t token = 0; token < 6; ++token)
      EXPECT_EQ(starts.at(sequence * 6 + token) == -10000, sequence_of[token] != sequence) << sequence << ' ' << token;
  }
}

// The vector of a sequence is the mean over its tokens, whatever padding holds; of no tokens 0.
TEST(ZooInference, EmbeddingsAreMeansOverTokens) {
  TransformerSpec spec = tiny_without_dropout("bert-base");
  spec.head = BertHead::embeddings, spec.masked_tokens = 0, spec.layers = 1;
  const Graph graph = build(spec, 2, DType::fp64, GraphUse::inference);
  Values feeds = random_feeds(graph, 7, 6);
  TensorId tokens, mask;
  for (const TensorId t : graph.inputs) {
    if (graph.tensors[t].name == "tokens") tokens = t;
    if (graph.tensors[t].name == "mask") mask = t;
  }
  feeds[mask] = Array::from(DType::fp64, {2, 6}, {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  const Array before = evaluate(graph, feeds, {}).at(graph.outputs[0]);
  Values other = feeds;
  other[tokens].set(5, std::fmod(feeds.at(tokens).at(5) + 1, 6));
  const Array after = evaluate(graph, other, {}).at(graph.outputs[0]);
  double size = 0;
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(before.at(i), after.at(i), 1e-12);
    EXPECT_EQ(before.at(12 + i), 0);
    size += std::abs(before.at(i));
  }
  EXPECT_GT(size, 0.1);
}

std::string refused(const TransformerSpec& spec, GraphUse use) {
  try {
    build(spec, 1, DType::fp16, use);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ZooInference, EmbeddingsCannotBeTrained) {
  TransformerSpec spec = tiny("bert-base");
  spec.head = BertHead::embeddings, spec.masked_tokens = 0;
  EXPECT_THAT(refused(spec, GraphUse::training), testing::HasSubstr("\"embeddings\" has no loss"));
  EXPECT_EQ(refused(spec, GraphUse::inference), "no error");
}

}  // namespace
}  // namespace superstep
