// SPDX-License-Identifier: Apache-2.0
// GPT-J: causal attention and feed-forward side by side behind one normalisation, queries and keys turned by their
// position, no biases in attention, a head of its own.
#include <algorithm>
#include <cmath>

#include "model/zoo/heads.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr std::int64_t kTurned = 64;  // elements of a head, in pairs

// [1, 1, s, pairs, 1]: cosines or sines of position x frequency.
Array turns(DType type, std::int64_t positions, std::int64_t pairs, bool sine) {
  Array values(TensorInfo{type, {1, 1, positions, pairs, 1}});
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double angle = position_angle(static_cast<double>(position), 2 * pair, 2 * pairs);
      values.set(position * pairs + pair, sine ? std::sin(angle) : std::cos(angle));
    }
  }
  return values;
}

struct Rotation {
  TensorId cosine, sine;
  std::int64_t turned = 0;
};

// x [m, heads, s, d]: each pair of the first elements is turned by the angle of its position.
TensorId turn(GraphBuilder& b, TensorId x, const Rotation& r) {
  const Shape shape = b.info(x).shape;
  const std::int64_t d = shape[3];
  const std::vector<TensorId> cut = r.turned < d ? b.split(x, 3, {r.turned, d - r.turned}) : b.split(x, 3, {d});
  const TensorId pairs = b.reshape(cut[0], {shape[0], shape[1], shape[2], r.turned / 2, 2});
  const std::vector<TensorId> pair = b.split(pairs, 4, {1, 1});
  const TensorId first = b.binary("sub", b.binary("mul", pair[0], r.cosine), b.binary("mul", pair[1], r.sine));
  const TensorId second = b.binary("add", b.binary("mul", pair[1], r.cosine), b.binary("mul", pair[0], r.sine));
  const TensorId turned = b.reshape(b.concat({first, second}, 4), {shape[0], shape[1], shape[2], r.turned});
  return cut.size() == 1 ? turned : b.concat({turned, cut[1]}, 3);
}

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
  Rotation rotation;
  rotation.turned = std::min(kTurned, spec.hidden / spec.heads / 2 * 2);
  rotation.cosine = b.constant(turns(precision, spec.sequence_length, rotation.turned / 2, false), "cosines");
  rotation.sine = b.constant(turns(precision, spec.sequence_length, rotation.turned / 2, true), "sines");
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
