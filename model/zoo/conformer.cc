// SPDX-License-Identifier: Apache-2.0
// Conformer: attention over frames of speech with a convolution beside it, between two halves of a feed-forward part;
// a transformer decoder reads what the frames became and writes the text. Frames are made four times fewer first.
// Two losses: of the decoder's tokens, and of each frame's token under a given alignment. The second stands for CTC,
// which sums over alignments: the same products and softmax, without the recursion over the frames.
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/zoo/heads.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr const char* kConformer =
    "Gulati et al. 2020 (arXiv 2005.08100); WeNet for AISHELL, as in Graphcore's examples";
constexpr double kConformerEpsilon = 1e-5;
constexpr double kUncounted = 1000;                         // taken from scores that do not count
constexpr std::int64_t kFrameWindow = 3, kFrameStride = 2;  // of the two convolutions that make frames fewer

std::int64_t after_convolutions(std::int64_t n) {
  for (int i = 0; i < 2; ++i) n = (n - kFrameWindow) / kFrameStride + 1;
  return n;
}

// Sines and cosines of the position, slower from pair to pair.
Array positions(DType type, std::int64_t rows, std::int64_t width) {
  Array table(TensorInfo{type, {rows, width}});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double angle = position_angle(static_cast<double>(row), i, width);
      table.set(row * width + i, i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

struct Conformer {
  GraphBuilder& b;
  const ConformerSpec& spec;
  std::int64_t micro_batch;
  DType type;
  TensorId target_in;                     // [m, target_length]
  TensorId frame_lengths, token_lengths;  // [m]
  std::int64_t frames() const { return after_convolutions(spec.frames); }

  TensorId dense(const std::string& name, TensorId x, std::int64_t columns, bool bias = true) const {
    const TensorId weight = b.weight(name, type, {b.info(x).shape.back(), columns});
    return b.linear(x, weight, bias ? b.weight(name + "_bias", type, {columns}) : TensorId{});
  }

  TensorId norm(const std::string& name, TensorId x) const {
    const std::int64_t width = b.info(x).shape.back();
    const TensorId gamma = b.weight(name + "_gamma", type, {width});
    return b.layer_norm(x, gamma, b.weight(name + "_beta", type, {width}), kConformerEpsilon);
  }

  // What a part makes of x, added to it.
  TensorId residual(TensorId x, TensorId part, double share = 1) const {
    return b.binary("add", x, b.scale(b.dropout(part, spec.dropout), share));
  }

  // 1 for positions below the length of their sample, `apart` frames being one: [m, 1, 1, rows].
  TensorId counted(TensorId lengths, std::int64_t rows, std::int64_t apart) const {
    Array at(TensorInfo{DType::int32, {rows}});
    for (std::int64_t i = 0; i < rows; ++i) at.set(i, static_cast<double>(apart * i));
    const TensorId below = b.binary("less", b.constant(std::move(at)), b.reshape(lengths, {micro_batch, 1, 1, 1}));
    return b.cast(below, type);
  }

  TensorId frame_mask() const { return counted(frame_lengths, frames(), kFrameStride * kFrameStride); }

  // Of tokens that count, and no later ones: [m, 1, s, s].
  TensorId token_mask() const {
    const std::int64_t s = spec.target_length;
    Array earlier(TensorInfo{type, {1, 1, s, s}});
    for (std::int64_t row = 0; row < s; ++row) {
      for (std::int64_t column = 0; column <= row; ++column) earlier.set(row * s + column, 1);
    }
    return b.binary("mul", b.constant(std::move(earlier)), counted(token_lengths, s, 1));
  }

  TensorId heads(TensorId x) const {
    const Shape& shape = b.info(x).shape;
    return b.transpose(b.reshape(x, {micro_batch, shape[1], spec.heads, spec.hidden / spec.heads}), {0, 2, 1, 3});
  }

  TensorId mixed(TensorId scores, TensorId value, TensorId mask) const {
    scores = b.scale(scores, 1 / std::sqrt(static_cast<double>(spec.hidden / spec.heads)));
    scores = b.binary("add", b.binary("mul", scores, mask), b.scale(b.shift(mask, -1), kUncounted));
    const TensorId weights = b.binary("mul", b.softmax(scores), mask);
    const TensorId all = b.transpose(b.matmul(weights, value, false, false, "context"), {0, 2, 1, 3});
    const Shape& shape = b.info(all).shape;
    return dense("out", b.reshape(all, {shape[0], shape[1], spec.hidden}), spec.hidden);
  }

  TensorId attention(TensorId x, TensorId memory, TensorId mask) const {
    const TensorId query = heads(dense("query", x, spec.hidden)), key = heads(dense("key", memory, spec.hidden));
    const TensorId value = heads(dense("value", memory, spec.hidden));
    return mixed(b.matmul(query, key, false, true, "scores"), value, mask);
  }

  // Scores also by the places of the keys, to which the query adds biases of its own for each head.
  TensorId attention_over_frames(TensorId x, TensorId mask) const {
    const std::int64_t d = spec.hidden / spec.heads, t = frames();
    const TensorId query = heads(dense("query", x, spec.hidden)), key = heads(dense("key", x, spec.hidden));
    const TensorId value = heads(dense("value", x, spec.hidden));
    const auto biased = [&](const char* name) {
      return b.binary("add", query, b.reshape(b.weight(name, type, {spec.heads, d}), {spec.heads, 1, d}));
    };
    const TensorId table = b.constant(positions(type, t, spec.hidden), "positions");
    const TensorId places =
        b.transpose(b.reshape(dense("places", table, spec.hidden, false), {t, spec.heads, d}), {1, 0, 2});
    const TensorId by_content = b.matmul(biased("content_bias"), key, false, true, "scores");
    const TensorId by_place = b.matmul(biased("place_bias"), places, false, true, "place_scores");
    return mixed(b.binary("add", by_content, by_place), value, mask);
  }

  TensorId feed_forward(TensorId x, const char* function) const {
    const TensorId up = b.unary(function, dense("up", norm("norm", x), spec.ffn));
    return dense("down", b.dropout(up, spec.dropout), spec.hidden);
  }

  TensorId convolution(TensorId x) const {
    const TensorId wide = dense("pointwise1", norm("norm", x), 2 * spec.hidden, false);
    const TensorId gate = b.unary("sigmoid", b.slice(wide, 2, spec.hidden, 2 * spec.hidden));
    const TensorId channels = b.transpose(b.binary("mul", b.slice(wide, 2, 0, spec.hidden), gate), {0, 2, 1});
    Attributes attrs;
    attrs.set("groups", spec.hidden);
    attrs.set("pads_begin", std::vector<std::int64_t>{spec.kernel / 2});
    attrs.set("pads_end", std::vector<std::int64_t>{spec.kernel / 2});
    const TensorId weight = b.weight("depthwise", type, {spec.hidden, 1, spec.kernel});
    const TensorId y = b.transpose(b.one("conv", {channels, weight}, std::move(attrs)), {0, 2, 1});
    return dense("pointwise2", b.unary("swish", norm("inner_norm", y)), spec.hidden, false);
  }

  TensorId embedding() const {
    TensorId x = b.input("features", type, {micro_batch, spec.frames, spec.features});
    GraphBuilder::Scope scope(b, "embedding");
    x = b.reshape(x, {micro_batch, 1, spec.frames, spec.features});
    for (const char* name : {"conv1", "conv2"}) {
      Attributes attrs;
      attrs.set("strides", std::vector<std::int64_t>{kFrameStride, kFrameStride});
      const TensorId weight = b.weight(name, type, {spec.hidden, b.info(x).shape[1], kFrameWindow, kFrameWindow});
      const TensorId bias = b.weight(std::string(name) + "_bias", type, {spec.hidden});
      const TensorId y = b.one("conv", {x, weight}, std::move(attrs));
      x = b.unary("relu", b.binary("add", y, b.reshape(bias, {spec.hidden, 1, 1})));
    }
    const std::int64_t width = spec.hidden * b.info(x).shape[3];
    x = dense("out", b.reshape(b.transpose(x, {0, 2, 1, 3}), {micro_batch, frames(), width}), spec.hidden);
    return b.dropout(b.scale(x, std::sqrt(static_cast<double>(spec.hidden))), spec.dropout);
  }

  // A unit of its own for each part.
  template <class Part>
  TensorId part(const std::string& name, std::int64_t layer, UnitRole role, const Part& make) const {
    b.begin_unit(name, layer, role);
    GraphBuilder::Scope scope(b, name);
    return make();
  }

  TensorId encoder_layer(std::int64_t number, TensorId x) const {
    const std::string name = "encoder" + std::to_string(number);
    x = part(name + "/ffn1", number, UnitRole::feed_forward,
             [&] { return residual(x, feed_forward(x, "swish"), 0.5); });
    x = part(name + "/attention", number, UnitRole::attention,
             [&] { return residual(x, attention_over_frames(norm("norm", x), frame_mask())); });
    x = part(name + "/convolution", number, UnitRole::other, [&] { return residual(x, convolution(x)); });
    return part(name + "/ffn2", number, UnitRole::feed_forward, [&] {
      x = norm("final_norm", residual(x, feed_forward(x, "swish"), 0.5));
      return number + 1 == spec.layers ? norm("encoder_norm", x) : x;
    });
  }

  // The first layer looks its tokens up.
  TensorId tokens() const {
    const TensorId table = b.weight("tokens", type, {spec.vocabulary, spec.hidden});
    const TensorId scaled = b.scale(b.gather(table, target_in), std::sqrt(static_cast<double>(spec.hidden)));
    const TensorId places = b.constant(positions(type, spec.target_length, spec.hidden), "positions");
    return b.dropout(b.binary("add", scaled, places), spec.dropout);
  }

  TensorId decoder_layer(std::int64_t number, TensorId x, TensorId memory) const {
    const std::string name = "decoder" + std::to_string(number);
    const std::int64_t layer = spec.layers + number;
    x = part(name + "/attention", layer, UnitRole::attention, [&] {
      const TensorId given = number == 0 ? tokens() : x, own = norm("norm", given);
      return residual(given, attention(own, own, token_mask()));
    });
    x = part(name + "/source", layer, UnitRole::attention,
             [&] { return residual(x, attention(norm("norm", x), memory, frame_mask())); });
    return part(name + "/ffn", layer, UnitRole::feed_forward, [&] { return residual(x, feed_forward(x, "relu")); });
  }
};

void check_conformer_spec(const ConformerSpec& spec) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("decoder_layers", spec.decoder_layers);
  positive("heads", spec.heads);
  positive("ffn", spec.ffn);
  positive("kernel", spec.kernel);
  positive("vocabulary", spec.vocabulary);
  positive("target_length", spec.target_length);
  if (spec.hidden < 1 || spec.hidden % spec.heads != 0)
    throw Error(spec.name,
                "hidden " + std::to_string(spec.hidden) + " is not a multiple of heads " + std::to_string(spec.heads));
  if (spec.kernel % 2 == 0) throw Error(spec.name, "kernel must be odd, found " + std::to_string(spec.kernel));
  if (spec.frames < kFewestFrames || spec.features < kFewestFrames)
    throw Error(spec.name, "frames and features must be at least " + std::to_string(kFewestFrames) + ", found " +
                               std::to_string(spec.frames) + " and " + std::to_string(spec.features));
}

}  // namespace

std::vector<ConformerSpec> conformer_specs() {
  ConformerSpec spec;
  spec.name = "conformer-m";
  spec.source = kConformer;
  return {spec};
}

nlohmann::json numbers_of(const ConformerSpec& s) {
  return {{"layers", s.layers},
          {"decoder_layers", s.decoder_layers},
          {"hidden", s.hidden},
          {"heads", s.heads},
          {"ffn", s.ffn},
          {"kernel", s.kernel},
          {"vocabulary", s.vocabulary},
          {"frames", s.frames},
          {"features", s.features},
          {"target_length", s.target_length},
          {"dropout", s.dropout},
          {"alignment_weight", s.alignment_weight}};
}

void override_numbers(JsonReader& r, ConformerSpec& s) {
  s.layers = r.integer_or("layers", 1, 4096, s.layers);
  s.decoder_layers = r.integer_or("decoder_layers", 1, 4096, s.decoder_layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.heads = r.integer_or("heads", 1, 4096, s.heads);
  s.ffn = r.integer_or("ffn", 1, 1 << 22, s.ffn);
  s.kernel = r.integer_or("kernel", 1, 4095, s.kernel);
  s.vocabulary = r.integer_or("vocabulary", 2, 1 << 24, s.vocabulary);
  s.frames = r.integer_or("frames", kFewestFrames, 1 << 20, s.frames);
  s.features = r.integer_or("features", kFewestFrames, 1 << 16, s.features);
  s.target_length = r.integer_or("target_length", 1, 1 << 20, s.target_length);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
  s.alignment_weight = r.number_or("alignment_weight", 0, 1, s.alignment_weight);
  if (s.hidden % s.heads != 0)
    throw Error(r.at("heads"),
                "found " + std::to_string(s.heads) + " heads, which do not divide hidden " + std::to_string(s.hidden));
  if (s.kernel % 2 == 0)
    throw Error(r.at("kernel"), "found " + std::to_string(s.kernel) + ", expected an odd number of frames");
}

Graph build(const ConformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  check_conformer_spec(spec);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  b.begin_unit("embedding", -1, UnitRole::embedding);
  const Shape of_tokens{micro_batch, spec.target_length};
  const TensorId frame_lengths = b.input("frame_lengths", DType::int32, {micro_batch});
  const TensorId token_lengths = b.input("token_lengths", DType::int32, {micro_batch});
  const TensorId target_in = b.input("target_in", DType::int32, of_tokens);
  const Conformer network{b, spec, micro_batch, precision, target_in, frame_lengths, token_lengths};
  TensorId memory = network.embedding();
  for (std::int64_t i = 0; i < spec.layers; ++i) memory = network.encoder_layer(i, memory);
  TensorId x;
  for (std::int64_t i = 0; i < spec.decoder_layers; ++i) x = network.decoder_layer(i, x, memory);

  b.begin_unit("head", -1, UnitRole::head);
  const TensorId labels = label_input(b, use, "target_out", of_tokens);
  const TensorId alignment = label_input(b, use, "alignment", {micro_batch, network.frames()});
  GraphBuilder::Scope scope(b, "head");
  const TensorId scores = network.dense("classes", network.norm("norm", x), spec.vocabulary);
  graph.outputs = {scores};
  if (use == GraphUse::inference) return graph;
  const TensorId of_frames = network.dense("frame_classes", memory, spec.vocabulary);
  graph.loss = b.binary("add", b.scale(b.cross_entropy(scores, labels), 1 - spec.alignment_weight),
                        b.scale(b.cross_entropy(of_frames, alignment), spec.alignment_weight));
  graph.outputs = {graph.loss, scores};
  return graph;
}

}  // namespace superstep::zoo
