// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions of operator set 23.
#include <algorithm>
#include <cmath>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// Keys or values [batch, heads, places, width] for `times` query heads each.
TensorId repeated(GraphBuilder& b, TensorId x, std::int64_t times) {
  const Shape shape = b.info(x).shape;
  if (times == 1) return x;
  const TensorId wide = b.expand(with_ones(b, x, 2, 1), {shape[0], shape[1], times, shape[2], shape[3]});
  return b.reshape(wide, {shape[0], shape[1] * times, shape[2], shape[3]});
}

// What queries read of keys, each [batch or 1, heads or 1, queries or 1, keys] or of lower rank; may be invalid.
struct Mask {
  TensorId read;   // truth; invalid: all
  TensorId added;  // to the scores
};

TensorId with_both(GraphBuilder& b, TensorId x, TensorId y) { return x.valid() ? b.binary("and", x, y) : y; }

// Query i reads keys up to i and all of the past.
TensorId causal(GraphBuilder& b, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  std::vector<double> reads;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) reads.push_back(j <= i + past ? 1 : 0);
  }
  return b.constant(Array::from(DType::boolean, {queries, keys}, reads));
}

// The operand "attn_mask": a number that is added, or false where a key is not read. Keys beyond the mask's are not
// read.
void add_mask(Node& n, std::int64_t keys, DType type, Mask& to) {
  GraphBuilder& b = n.b;
  const bool truth = n.type(3) == DType::boolean;
  TensorId mask = n.in(3);
  if (const std::int64_t known = n.shape(3).empty() ? keys : n.shape(3).back(); known < keys) {
    std::vector<std::int64_t> before(n.shape(3).size()), after = before;
    after.back() = keys - known;
    Attributes attrs;
    attrs.set("before", before);
    attrs.set("after", after);
    attrs.set("value", truth ? 0.0 : -HUGE_VAL);
    mask = b.one("pad", {mask}, std::move(attrs));
  }
  (truth ? to.read : to.added) = truth ? with_both(b, to.read, mask) : b.cast(mask, type);
}

// `past`: keys of earlier calls. Operand 6, "nonpad_kv_seqlen", says how many keys a sample has; its last ones belong
// to the queries.
Mask mask_of(Node& n, std::int64_t queries, std::int64_t keys, std::int64_t past, DType type) {
  GraphBuilder& b = n.b;
  const bool is_causal = n.integer_attribute("is_causal", 0) != 0;
  Mask mask;
  if (is_causal && !n.has(6)) mask.read = causal(b, queries, keys, past);
  if (n.has(3)) add_mask(n, keys, type, mask);
  if (!n.has(6)) return mask;
  const TensorId lengths = b.reshape(n.in(6), {n.shape(6).at(0), 1, 1, 1}), places = counting(b, keys);
  mask.read = with_both(b, mask.read, b.binary("less", places, lengths));
  if (!is_causal) return mask;
  const TensorId behind = b.binary("sub", places, with_ones(b, counting(b, queries), 1, 1));
  const TensorId earlier = b.binary("sub", lengths, integer_constant(b, {}, {queries}));
  mask.read = with_both(b, mask.read, b.binary("less_equal", behind, earlier));
  return mask;
}

TensorId masked(GraphBuilder& b, TensorId scores, const Mask& mask) {
  if (mask.added.valid()) scores = b.binary("add", scores, mask.added);
  return mask.read.valid() ? b.one("where", {mask.read, scores, b.scalar(b.info(scores).type, -HUGE_VAL)}) : scores;
}

// Shares of queries that read no key are 0. (A softmax of nothing is NaN.)
TensorId of_some_key(const Node& n, TensorId shares, const Mask& mask) {
  GraphBuilder& b = n.b;
  const TensorId none = b.scalar(b.info(shares).type, -HUGE_VAL), zero = b.scalar(b.info(shares).type, 0);
  TensorId most = mask.added;
  if (mask.read.valid()) most = b.one("where", {mask.read, most.valid() ? most : zero, none});
  if (!most.valid()) return shares;
  const TensorId nothing = b.binary("equal", b.reduce("max", most, {-1}, true), none);
  if (const Array* known = n.known(nothing)) {
    const std::vector<double> values = known->values();
    if (std::find(values.begin(), values.end(), 1.0) == values.end()) return shares;
  }
  return b.one("where", {nothing, zero, shares});
}

struct Heads {
  TensorId q, k, v;  // [batch, heads, places, width]
  bool flat = false;
};

Heads heads_of(Node& n) {
  GraphBuilder& b = n.b;
  Heads h{n.in(0), n.in(1), n.in(2), n.rank(0) == 3};
  const std::int64_t of_q = n.integer_attribute("q_num_heads", 0), of_kv = n.integer_attribute("kv_num_heads", 0);
  if (n.rank(0) != n.rank(1) || n.rank(0) != n.rank(2) || (n.rank(0) != 3 && n.rank(0) != 4))
    Node::fail("queries " + to_text(n.shape(0)) + ", keys " + to_text(n.shape(1)) + ", values " + to_text(n.shape(2)));
  if (h.flat) h = {heads_apart(b, h.q, of_q), heads_apart(b, h.k, of_kv), heads_apart(b, h.v, of_kv), true};
  return h;
}

Results attention_23(Node& n) {
  GraphBuilder& b = n.b;
  Heads h = heads_of(n);
  std::int64_t past = 0;
  if (n.has(4)) {
    past = n.shape(4).at(2);
    h.k = b.concat({n.in(4), h.k}, 2);
    h.v = b.concat({n.in(5), h.v}, 2);
  }
  const TensorId present_key = h.k, present_value = h.v;
  const std::int64_t q_heads = b.info(h.q).shape[1], kv_heads = b.info(h.k).shape[1];
  if (kv_heads < 1 || q_heads % kv_heads != 0)
    Node::fail(std::to_string(q_heads) + " heads of queries for " + std::to_string(kv_heads) + " of keys");
  h.k = repeated(b, h.k, q_heads / kv_heads), h.v = repeated(b, h.v, q_heads / kv_heads);
  const double scale =
      n.number_attribute("scale", 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(b.info(h.q).shape[3], 1))));
  n.integer_attribute("softmax_precision", 1);
  const double cap = n.number_attribute("softcap", 0);
  const std::int64_t shown = n.integer_attribute("qk_matmul_output_mode", 0);
  const Mask mask = mask_of(n, b.info(h.q).shape[2], b.info(h.k).shape[2], past, b.info(h.q).type);
  std::vector<TensorId> stages;  // the product, with its cap, with the mask, as shares
  stages.push_back(b.scale(b.matmul(h.q, h.k, false, true), scale));
  stages.push_back(cap > 0 ? b.scale(b.unary("tanh", b.scale(stages[0], 1 / cap)), cap) : stages[0]);
  stages.push_back(masked(b, stages[1], mask));
  const TensorId shares = of_some_key(n, b.softmax(stages[2]), mask);
  stages.push_back(shares);
  if (shown < 0 || shown > 3) Node::fail("qk_matmul_output_mode " + std::to_string(shown));
  const TensorId y = b.matmul(shares, h.v);
  return {h.flat ? heads_together(b, y) : y, present_key, present_value, stages[static_cast<std::size_t>(shown)]};
}

// The two halves of [..., 2 k], or its even and odd elements, as [..., k] each.
std::vector<TensorId> halves(GraphBuilder& b, TensorId x, bool interleaved) {
  Shape shape = b.info(x).shape;
  const std::int64_t half = shape.back() / 2;
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  if (!interleaved) return b.split(x, axis, {half, half});
  shape.back() = half;
  Shape pairs = shape;
  pairs.push_back(2);
  const TensorId by_pair = b.reshape(x, pairs);
  return {b.reshape(b.slice(by_pair, axis + 1, 0, 1), shape), b.reshape(b.slice(by_pair, axis + 1, 1, 2), shape)};
}

TensorId joined(GraphBuilder& b, TensorId first, TensorId second, bool interleaved) {
  Shape shape = b.info(first).shape;
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  if (!interleaved) return b.concat({first, second}, axis);
  const TensorId pairs =
      b.concat({with_ones(b, first, shape.size(), 1), with_ones(b, second, shape.size(), 1)}, axis + 1);
  shape.back() *= 2;
  return b.reshape(pairs, shape);
}

// Operands: x, cosines and sines by place, and the places of x: tables are [places, half] with these, else
// [batch, places, half].
Results rotary_embedding(Node& n) {
  GraphBuilder& b = n.b;
  const bool flat = n.rank(0) == 3, interleaved = n.integer_attribute("interleaved", 0) != 0;
  const std::int64_t heads = n.integer_attribute("num_heads", 0);
  TensorId x = flat ? heads_apart(b, n.in(0), heads) : n.in(0);
  const Shape shape = b.info(x).shape;
  if (shape.size() != 4) Node::fail("operand 0 has shape " + to_text(n.shape(0)));
  std::int64_t turned = n.integer_attribute("rotary_embedding_dim", 0);
  if (turned == 0) turned = shape[3];
  if (turned % 2 != 0 || turned > shape[3]) Node::fail(std::to_string(turned) + " turned of " + to_text(shape));
  const auto table = [&](std::size_t i) {
    const TensorId rows = n.has(3) ? b.gather(n.in(i), n.in(3)) : n.in(i);
    return with_ones(b, b.slice(rows, 2, 0, turned / 2), 1, 1);  // for all heads
  };
  const TensorId cosine = table(1), sine = table(2);
  TensorId rest;
  if (turned < shape[3]) {
    const std::vector<TensorId> parts = b.split(x, 3, {turned, shape[3] - turned});
    x = parts[0], rest = parts[1];
  }
  const std::vector<TensorId> xs = halves(b, x, interleaved);
  const TensorId first = b.binary("sub", b.binary("mul", xs[0], cosine), b.binary("mul", xs[1], sine));
  const TensorId second = b.binary("add", b.binary("mul", xs[0], sine), b.binary("mul", xs[1], cosine));
  TensorId y = joined(b, first, second, interleaved);
  if (rest.valid()) y = b.concat({y, rest}, 3);
  return {flat ? heads_together(b, y) : y};
}

constexpr Handler kAttentionHandlers[] = {
    {"Attention", 23, 7, attention_23},
    {"RotaryEmbedding", 23, 4, rotary_embedding},
};

}  // namespace

TensorId heads_apart(GraphBuilder& b, TensorId x, std::int64_t heads) {
  const Shape shape = b.info(x).shape;
  if (heads < 1 || shape[2] % heads != 0) Node::fail(std::to_string(heads) + " heads of " + to_text(shape));
  return b.transpose(b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

TensorId heads_together(GraphBuilder& b, TensorId x) {
  const Shape shape = b.info(x).shape;
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

std::span<const Handler> attention_handlers() { return kAttentionHandlers; }

}  // namespace superstep::onnx_import
