// SPDX-License-Identifier: Apache-2.0
// GPT-J: causal attention and feed-forward side by side behind one normalisation, queries and keys turned by their
// position, no biases in attention, a head of its own.
#include <algorithm>
#include <cmath>

#include "model/zoo/heads.h"
#include "model/zoo/rotary.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr std::int64_t kTurned = 64;  // elements of a head, in pairs

TensorId attend(const Context& c, TensorId x, const Rotation& rotation, TensorId mask) {
  GraphBuilder& b = c.b;
  const std::int64_t m = c.micro_batch, s = c.spec.sequence_length, h = c.spec.hidden, heads = c.spec.heads;
  const TensorId qkv = b.matmul(x, b.weight("qkv", c.type, {h, 3 * h}));  // columns by head, as attention() has them
  const auto parts = b.split(b.transpose(b.reshape(qkv, {m, s, heads, 3, h / heads}), {3, 0, 2, 1, 4}), 0, {1, 1, 1});
  const auto matrix = [&](TensorId t) { return b.reshape(t, {m, heads, s, h / heads}); };
  const TensorId query = turn(b, matrix(parts[0]), rotation), key = turn(b, matrix(parts[1]), rotation);
  TensorId scores = b.matmul(query, key, false, true, "scores");
  scores = b.binary("add", b.scale(scores, 1 / std::sqrt(static_cast<double>(h / heads))), mask);
  const TensorId weights = b.dropout(b.softmax(scores), c.spec.attention_dropout);
  const TensorId mixed = b.transpose(b.matmul(weights, matrix(parts[2]), false, false, "context"), {0, 2, 1, 3});
  return b.dropout(b.matmul(b.reshape(mixed, {m, s, h}), b.weight("out", c.type, {h, h})), c.spec.dropout);
}

TensorId gptj_layer(const Context& c, std::int64_t number, TensorId x, const Rotation& rotation, TensorId mask) {
  GraphBuilder& b = c.b;
  const std::string name = "layer" + std::to_string(number);
  b.begin_unit(name + "/attention", number, UnitRole::attention);
  TensorId normed;
  {
    GraphBuilder::Scope scope(b, name + "/attention");
    normed = layer_norm(c, "norm", x);
    x = b.binary("add", x, attend(c, normed, rotation, mask));
  }
  b.begin_unit(name + "/ffn_up", number, UnitRole::feed_forward);
  TensorId up;
  {
    GraphBuilder::Scope scope(b, name + "/ffn_up");
    up = b.dropout(b.unary("gelu", dense(c, "up", normed, c.spec.ffn)), c.spec.ffn_dropout);
  }
  b.begin_unit(name + "/ffn_down", number, UnitRole::feed_forward);
  GraphBuilder::Scope scope(b, name + "/ffn_down");
  return b.binary("add", x, b.dropout(dense(c, "down", up, c.spec.hidden), c.spec.dropout));
}

}  // namespace

Graph build_gptj(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  const Context c{b, spec, micro_batch, precision, use};

  b.begin_unit("embedding", -1, UnitRole::embedding);
  const TensorId tokens = b.input("tokens", DType::int32, c.tokens());
  const TensorId table = b.weight("embedding/tokens", precision, {spec.vocabulary, spec.hidden});
  const TensorId mask = b.constant(causal_mask(precision, spec.sequence_length), "causal_mask");
  const std::int64_t turned = std::min(kTurned, spec.hidden / spec.heads / 2 * 2);
  const Rotation rotation = make_rotation(b, precision, spec.sequence_length, turned, Pairs::neighbours);
  TensorId x = b.dropout(b.gather(table, tokens), spec.dropout);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = gptj_layer(c, i, x, rotation, mask);

  b.begin_unit("head", -1, UnitRole::head);
  const TensorId labels = label_input(b, use, "labels", c.tokens());
  GraphBuilder::Scope scope(b, "head");
  const TensorId logits = dense(c, "words", layer_norm(c, "norm", x), spec.vocabulary);
  end_in_next_token(b, {logits, labels});
  return graph;
}

}  // namespace superstep::zoo
