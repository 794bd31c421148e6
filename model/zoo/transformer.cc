// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/transformer.h"

#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "model/error.h"

namespace superstep::zoo {

namespace {

constexpr double kLayerNormEpsilon = 1e-5;

TensorId cut_heads(const Context& c, TensorId x) {
  const std::int64_t d = c.spec.hidden / c.spec.heads;
  return c.b.reshape(x, {c.micro_batch, c.spec.heads, c.spec.sequence_length, d});
}

Array make_causal_mask(DType type, std::int64_t s) {
  Array mask(TensorInfo{type, {1, 1, s, s}});
  for (std::int64_t column = 1; column < s; ++column) mask.set(column, kMasked);
  const std::byte* masked = mask.data.data() + size_of(type);
  for (std::int64_t row = 1; row < s; ++row)
    std::copy_n(masked, (s - 1 - row) * size_of(type), mask.data.data() + (row * s + row + 1) * size_of(type));
  return mask;
}

}  // namespace

TensorId dense(const Context& c, const std::string& name, TensorId x, std::int64_t columns) {
  const std::int64_t rows = c.b.info(x).shape.back();
  const TensorId weight = c.b.weight(name, c.type, {rows, columns});
  const TensorId bias = c.b.weight(name + "_bias", c.type, {columns});
  return c.b.linear(x, weight, bias);
}

TensorId layer_norm(const Context& c, const std::string& name, TensorId x) {
  const std::int64_t width = c.b.info(x).shape.back();
  const TensorId gamma = c.b.weight(name + "_gamma", c.type, {width});
  const TensorId beta = c.b.weight(name + "_beta", c.type, {width});
  return c.b.layer_norm(x, gamma, beta, kLayerNormEpsilon);
}

TensorId attention(const Context& c, TensorId x, const Mask& mask) {
  GraphBuilder& b = c.b;
  const std::int64_t m = c.micro_batch, s = c.spec.sequence_length, h = c.spec.hidden, heads = c.spec.heads;
  const std::int64_t d = h / heads;

  const TensorId qkv = b.reshape(dense(c, "qkv", x, 3 * h), {m, s, heads, 3, d});
  const auto parts = b.split(b.transpose(qkv, {3, 0, 2, 1, 4}), 0, {1, 1, 1});  // [1, m, heads, s, d] each
  const TensorId query = cut_heads(c, parts[0]), key = cut_heads(c, parts[1]), value = cut_heads(c, parts[2]);

  TensorId scores = b.matmul(query, key, false, true, "scores");
  scores = b.scale(scores, 1 / std::sqrt(static_cast<double>(d)));
  if (mask) scores = b.binary("add", scores, mask());
  const TensorId weights = b.dropout(b.softmax(scores), c.spec.attention_dropout);
  const TensorId mixed = b.matmul(weights, value, false, false, "context");
  const TensorId merged = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {m, s, h});
  return b.dropout(dense(c, "out", merged, h), c.spec.dropout);
}

double position_angle(double position, std::int64_t i, std::int64_t width, double base) {
  return position * std::pow(base, -static_cast<double>(i / 2 * 2) / static_cast<double>(width));
}

TensorId padding_mask(GraphBuilder& b, TensorId mask) {
  Attributes line;
  line.set("scale", -kMasked);
  line.set("shift", kMasked);
  const Shape shape = b.info(mask).shape;
  return b.one("affine", {b.reshape(mask, {shape[0], 1, 1, shape[1]})}, std::move(line));
}

std::shared_ptr<const Array> causal_mask(DType type, std::int64_t s) {
  static std::mutex mutex;
  static std::map<std::pair<DType, std::int64_t>, std::weak_ptr<const Array>> made;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Array>& known = made[{type, s}];
  std::shared_ptr<const Array> mask = known.lock();
  if (!mask) known = mask = std::make_shared<const Array>(make_causal_mask(type, s));
  return mask;
}

TensorId pre_norm_layer(const Context& c, std::int64_t number, TensorId x, const Mask& mask) {
  GraphBuilder& b = c.b;
  const std::string name = "layer" + std::to_string(number);
  b.begin_unit(name + "/attention", number, UnitRole::attention);
  {
    GraphBuilder::Scope scope(b, name + "/attention");
    x = b.binary("add", x, attention(c, layer_norm(c, "norm", x), mask));
  }
  b.begin_unit(name + "/ffn_up", number, UnitRole::feed_forward);
  TensorId up;
  {
    GraphBuilder::Scope scope(b, name + "/ffn_up");
    up = b.dropout(b.unary("gelu", dense(c, "up", layer_norm(c, "norm", x), c.spec.ffn)), c.spec.ffn_dropout);
  }
  b.begin_unit(name + "/ffn_down", number, UnitRole::feed_forward);
  GraphBuilder::Scope scope(b, name + "/ffn_down");
  return b.binary("add", x, b.dropout(dense(c, "down", up, c.spec.hidden), c.spec.dropout));
}

namespace {

void check_transformer_spec(const TransformerSpec& spec) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("hidden", spec.hidden);
  positive("heads", spec.heads);
  positive("ffn", spec.ffn);
  positive("vocabulary", spec.vocabulary);
  positive("sequence_length", spec.sequence_length);
  if (spec.hidden % spec.heads != 0) {
    throw Error(spec.name,
                "hidden " + std::to_string(spec.hidden) + " is not a multiple of heads " + std::to_string(spec.heads));
  }
  if (spec.positions < spec.sequence_length) {
    throw Error(spec.name, "sequence_length " + std::to_string(spec.sequence_length) + " exceeds positions " +
                               std::to_string(spec.positions));
  }
  positive("classes", spec.classes);
  if (spec.masked_tokens < 0 || spec.masked_tokens > spec.sequence_length) {
    throw Error(spec.name,
                "masked_tokens must be between 0 and sequence_length, found " + std::to_string(spec.masked_tokens));
  }
}

}  // namespace

Graph build(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  check_transformer_spec(spec);
  if (spec.family == "bert") return build_bert(spec, micro_batch, precision, use);
  if (spec.name.starts_with("gptj")) return build_gptj(spec, micro_batch, precision, use);
  if (spec.family == "gpt") return build_gpt(spec, micro_batch, precision, use);
  throw Error(spec.name, "unknown family \"" + spec.family + "\" (expected one of: bert, gpt)");
}

}  // namespace superstep::zoo
