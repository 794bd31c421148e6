// SPDX-License-Identifier: Apache-2.0
// BERT: normalisation after each part, bidirectional attention under a padding mask, word, position
// and token-type tables. Heads: masked language, tied to the word table, with the next sentence; answers to questions;
// classes; mean vectors.
//
// Packed: a sample holds several sequences. Inputs give each token its sequence (attention stays
// within it) and its position, and the sequences' first tokens to heads that have a result for each sequence.
#include <algorithm>
#include <cmath>

#include "model/error.h"
#include "model/zoo/heads.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr std::int64_t kTokenTypes = 2;
constexpr std::int64_t kSequencesPerPack = 3;  // at most, in MLPerf's packing
constexpr double kLeastCount = 1e-4;           // of a sequence's tokens: one without tokens has the mean 0

// The most sequences of a sample.
std::int64_t sequences(const TransformerSpec& spec) {
  if (!spec.packed) return 1;
  return std::max(kSequencesPerPack, static_cast<std::int64_t>(std::ceil(spec.sequences_per_pack)));
}

struct Inputs {
  TensorId tokens, segments;
  TensorId mask;       // [m, s]: 1 for tokens, 0 for padding; unless packed
  TensorId sequences;  // [m, s]: which sequence of the pack; packed
  TensorId positions;  // [m, s]: place in its sequence; packed
};

Inputs inputs(const Context& c) {
  Inputs in;
  in.tokens = c.b.input("tokens", DType::int32, c.tokens());
  in.segments = c.b.input("segments", DType::int32, c.tokens());
  if (!c.spec.packed) in.mask = c.b.input("mask", c.type, c.tokens());
  if (c.spec.packed) in.sequences = c.b.input("sequences", DType::int32, c.tokens());
  if (c.spec.packed) in.positions = c.b.input("positions", DType::int32, c.tokens());
  return in;
}

TensorId bert_embedding(const Context& c, const Inputs& in, TensorId words) {
  GraphBuilder& b = c.b;
  GraphBuilder::Scope scope(b, "embedding");
  const TensorId positions = b.weight("positions", c.type, {c.spec.positions, c.spec.hidden});
  const TensorId segments = b.weight("segments", c.type, {kTokenTypes, c.spec.hidden});
  TensorId x = b.gather(words, in.tokens);
  const TensorId places =
      in.positions.valid() ? b.gather(positions, in.positions) : b.slice(positions, 0, 0, c.spec.sequence_length);
  x = b.binary("add", x, places);
  x = b.binary("add", x, b.gather(segments, in.segments));
  return b.dropout(layer_norm(c, "norm", x), c.spec.dropout);
}

// Made again in every layer from an input of one number per token, so that no stage has to be sent it.
TensorId score_mask(const Context& c, const Inputs& in) {
  GraphBuilder& b = c.b;
  const std::int64_t m = c.micro_batch, s = c.spec.sequence_length;
  if (!c.spec.packed) return padding_mask(b, in.mask);
  const TensorId same = b.binary("equal", b.reshape(in.sequences, {m, 1, s, 1}), b.reshape(in.sequences, {m, 1, 1, s}));
  return b.one("where", {same, b.scalar(c.type, 0), b.scalar(c.type, kMasked)});
}

TensorId bert_layer(const Context& c, std::int64_t number, TensorId x, const Inputs& in) {
  GraphBuilder& b = c.b;
  const std::string name = "layer" + std::to_string(number);
  b.begin_unit(name + "/attention", number, UnitRole::attention);
  {
    GraphBuilder::Scope scope(b, name + "/attention");
    const TensorId mixed = attention(c, x, [&] { return score_mask(c, in); });
    x = layer_norm(c, "norm", b.binary("add", x, mixed));
  }
  b.begin_unit(name + "/ffn_up", number, UnitRole::feed_forward);
  TensorId up;
  {
    GraphBuilder::Scope scope(b, name + "/ffn_up");
    up = b.unary("gelu", dense(c, "up", x, c.spec.ffn));
  }
  b.begin_unit(name + "/ffn_down", number, UnitRole::feed_forward);
  GraphBuilder::Scope scope(b, name + "/ffn_down");
  const TensorId down = b.dropout(dense(c, "down", up, c.spec.hidden), c.spec.dropout);
  return layer_norm(c, "norm", b.binary("add", x, down));
}

// [m, s, h] at positions [m, p]: [m, p, h]
TensorId at_positions(GraphBuilder& b, TensorId x, TensorId positions) {
  Attributes attrs;
  attrs.set("axis", std::int64_t{1});
  attrs.set("batch_dims", std::int64_t{1});
  return b.one("gather", {x, positions}, std::move(attrs));
}

// The positions of the sequences' first tokens: [m, sequences, h] of [m, s, h].
TensorId first_tokens(const Context& c, TensorId x) {
  if (!c.spec.packed) return c.b.slice(x, 1, 0, 1);
  return at_positions(c.b, x, c.b.input("first_positions", DType::int32, {c.micro_batch, sequences(c.spec)}));
}

Prediction masked_language(const Context& c, TensorId x, TensorId words) {
  GraphBuilder& b = c.b;
  const Shape rows{c.micro_batch, c.spec.masked_tokens};
  const TensorId labels = label_input(b, c.use, "masked_labels", rows);
  x = at_positions(b, x, b.input("masked_positions", DType::int32, rows));
  GraphBuilder::Scope scope(b, "head/masked");
  x = layer_norm(c, "norm", b.unary("gelu", dense(c, "transform", x, c.spec.hidden)));
  const TensorId bias = b.weight("decoder_bias", c.type, {c.spec.vocabulary});
  return {b.binary("add", b.matmul(x, words, false, true, "logits"), bias), labels};
}

// One of `classes` for each sequence.
Prediction of_sequences(const Context& c, TensorId x, std::string name, const char* labels_name, std::int64_t classes) {
  GraphBuilder& b = c.b;
  const TensorId labels = label_input(b, c.use, labels_name, {c.micro_batch, sequences(c.spec)});
  const TensorId first = first_tokens(c, x);
  GraphBuilder::Scope scope(b, std::move(name));
  const TensorId pooled = b.unary("tanh", dense(c, "pooler", first, c.spec.hidden));
  return {dense(c, "classifier", pooled, classes), labels};
}

// [m, sequences, s]: true for the tokens of each sequence of a pack, which are numbered from 1.
TensorId tokens_of_sequences(const Context& c, const Inputs& in) {
  GraphBuilder& b = c.b;
  const std::int64_t count = sequences(c.spec);
  Array numbers(TensorInfo{DType::int32, {1, count, 1}});
  for (std::int64_t i = 0; i < count; ++i) numbers.set(i, static_cast<double>(i + 1));
  return b.binary("equal", b.reshape(in.sequences, {c.micro_batch, 1, c.spec.sequence_length}),
                  b.constant(std::move(numbers), "sequence_numbers"));
}

// Where each sequence's answer begins and where it ends, as classes of its tokens: twice [m, sequences, s].
std::vector<Prediction> answers(const Context& c, TensorId x, const Inputs& in) {
  GraphBuilder& b = c.b;
  const Shape of_sequences{c.micro_batch, sequences(c.spec)};
  const TensorId starts = label_input(b, c.use, "start_positions", of_sequences);
  const TensorId ends = label_input(b, c.use, "end_positions", of_sequences);
  GraphBuilder::Scope scope(b, "head/answer");
  const std::vector<TensorId> both = b.split(b.transpose(dense(c, "classifier", x, 2), {0, 2, 1}), 1, {1, 1});
  std::vector<Prediction> out = {{both[0], starts}, {both[1], ends}};
  if (!c.spec.packed) return out;
  const TensorId own = tokens_of_sequences(c, in);
  for (Prediction& p : out) p.scores = b.one("where", {own, p.scores, b.scalar(c.type, kMasked)});
  return out;
}

// [m, sequences, h]: the mean of the vectors of each sequence's tokens.
TensorId embeddings(const Context& c, TensorId x, const Inputs& in) {
  GraphBuilder& b = c.b;
  GraphBuilder::Scope scope(b, "head/embeddings");
  const TensorId own = c.spec.packed ? b.cast(tokens_of_sequences(c, in), c.type)
                                     : b.reshape(in.mask, {c.micro_batch, 1, c.spec.sequence_length});
  const TensorId counts = b.shift(b.reduce("sum", own, {2}, true), kLeastCount);
  return b.matmul(b.binary("div", own, counts), x);
}

std::vector<Prediction> predictions(const Context& c, TensorId x, TensorId words, const Inputs& in) {
  std::vector<Prediction> out;
  switch (c.spec.head) {
    case BertHead::masked_language:
      if (c.spec.masked_tokens > 0) out.push_back(masked_language(c, x, words));
      if (c.spec.next_sentence) out.push_back(of_sequences(c, x, "head/next_sentence", "next_sentence_labels", 2));
      break;
    case BertHead::question_answering:
      return answers(c, x, in);
    case BertHead::classification:
      return {of_sequences(c, x, "head/class", "labels", c.spec.classes)};
    case BertHead::embeddings:
      return {{embeddings(c, x, in), {}}};
  }
  return out;
}

}  // namespace

Graph build_bert(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  if (spec.head == BertHead::embeddings && use == GraphUse::training)
    throw Error(spec.name, "the head \"embeddings\" has no loss to train; expected task \"inference\" or another head");
  if (spec.head == BertHead::masked_language && spec.masked_tokens == 0 && !spec.next_sentence)
    throw Error(spec.name, "masked_tokens is 0 and there is no next sentence to predict; expected a head");
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  const Context c{b, spec, micro_batch, precision, use};

  b.begin_unit("embedding", -1, UnitRole::embedding);
  const Inputs in = inputs(c);
  const TensorId words = b.weight("embedding/words", precision, {spec.vocabulary, spec.hidden});
  TensorId x = bert_embedding(c, in, words);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = bert_layer(c, i, x, in);

  b.begin_unit("head", -1, UnitRole::head);
  for (const Prediction& p : predictions(c, x, words, in)) {
    if (use == GraphUse::inference) {
      graph.outputs.push_back(p.scores);
      continue;
    }
    const TensorId loss = b.cross_entropy(p.scores, p.labels);
    graph.loss = graph.loss.valid() ? b.binary("add", graph.loss, loss) : loss;
    graph.outputs = {graph.loss};
  }
  return graph;
}

}  // namespace superstep::zoo
