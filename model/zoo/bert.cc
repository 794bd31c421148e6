// SPDX-License-Identifier: Apache-2.0
// BERT: normalisation after each part, bidirectional attention under a padding mask, word, position
// and token-type tables, masked-language head tied to the word table, next-sentence head.
//
// Packed: a sample holds several sequences. Inputs give each token its sequence (attention stays
// within it) and its position, and up to three first tokens for the next-sentence head.
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr std::int64_t kTokenTypes = 2;
constexpr std::int64_t kSequencesPerPack = 3;  // MLPerf's packing

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

TensorId masked_language_loss(const Context& c, TensorId x, TensorId words) {
  GraphBuilder& b = c.b;
  const std::int64_t rows = c.spec.masked_tokens > 0 ? c.spec.masked_tokens : c.spec.sequence_length;
  const TensorId labels = b.input("masked_labels", DType::int32, {c.micro_batch, rows});
  if (c.spec.masked_tokens > 0) {
    x = at_positions(b, x, b.input("masked_positions", DType::int32, {c.micro_batch, rows}));
  }
  GraphBuilder::Scope scope(b, "head/masked");
  x = layer_norm(c, "norm", b.unary("gelu", dense(c, "transform", x, c.spec.hidden)));
  const TensorId bias = b.weight("decoder_bias", c.type, {c.spec.vocabulary});
  const TensorId logits = b.binary("add", b.matmul(x, words, false, true, "logits"), bias);
  return b.cross_entropy(logits, labels);
}

TensorId next_sentence_loss(const Context& c, TensorId x) {
  GraphBuilder& b = c.b;
  const std::int64_t rows = c.spec.packed ? kSequencesPerPack : 1;
  const TensorId labels = b.input("next_sentence_labels", DType::int32, {c.micro_batch, rows});
  const TensorId first = c.spec.packed
                             ? at_positions(b, x, b.input("first_positions", DType::int32, {c.micro_batch, rows}))
                             : b.slice(x, 1, 0, 1);
  GraphBuilder::Scope scope(b, "head/next_sentence");
  const TensorId pooled = b.unary("tanh", dense(c, "pooler", first, c.spec.hidden));
  return b.cross_entropy(dense(c, "classifier", pooled, 2), labels);
}

}  // namespace

Graph build_bert(const TransformerSpec& spec, std::int64_t micro_batch, DType precision) {
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  const Context c{b, spec, micro_batch, precision};

  b.begin_unit("embedding", -1, UnitRole::embedding);
  const Inputs in = inputs(c);
  const TensorId words = b.weight("embedding/words", precision, {spec.vocabulary, spec.hidden});
  TensorId x = bert_embedding(c, in, words);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = bert_layer(c, i, x, in);

  b.begin_unit("head", -1, UnitRole::head);
  graph.loss = masked_language_loss(c, x, words);
  if (spec.next_sentence) graph.loss = b.binary("add", graph.loss, next_sentence_loss(c, x));
  graph.outputs = {graph.loss};
  return graph;
}

}  // namespace superstep::zoo
