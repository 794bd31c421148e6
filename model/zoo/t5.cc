// SPDX-License-Identifier: Apache-2.0
// T5: an encoder and a decoder of as many layers; scaling by the root mean square ahead of each part, no biases, scores
// that a table shifts by the distance of the positions. Version 1.1 gates its feed-forward part and has a head of its
// own; version 1.0's is the table of words.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/zoo/heads.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr const char* kT5 = "Raffel et al. 2019 (arXiv 1910.10683) section 3.2; the published checkpoints";
constexpr const char* kT511 = "T5 version 1.1 (gated GELU, head of its own); the published checkpoints";
constexpr double kT5Epsilon = 1e-6;
constexpr std::int64_t kBuckets = 32, kFarthest = 128;

// The row of the table for a key `distance` positions behind its query: half of the rows are for one distance each,
// the others for ranges that grow with the distance. An encoder has rows for either direction.
std::int64_t bucket(std::int64_t distance, bool both_ways) {
  std::int64_t rows = kBuckets, first = 0;
  if (both_ways) {
    rows /= 2;
    if (distance < 0) first = rows;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(distance, 0);
  }
  const std::int64_t exact = rows / 2;
  if (distance < exact) return first + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(kFarthest) / static_cast<double>(exact));
  return first + std::min(rows - 1, exact + static_cast<std::int64_t>(share * static_cast<double>(rows - exact)));
}

Array buckets(std::int64_t length, bool both_ways) {
  Array rows(TensorInfo{DType::int32, {length, length}});
  for (std::int64_t query = 0; query < length; ++query) {
    for (std::int64_t key = 0; key < length; ++key)
      rows.set(query * length + key, static_cast<double>(bucket(query - key, both_ways)));
  }
  return rows;
}

class T5Builder {
 public:
  T5Builder(Graph& graph, const T5Spec& spec, std::int64_t micro_batch, DType precision)
      : b_(graph), s_(spec), m_(micro_batch), type_(precision) {}

  void build(GraphUse use) {
    b_.begin_unit("embedding", -1, UnitRole::embedding);
    words_ = b_.weight("embedding/words", type_, {s_.vocabulary, s_.hidden});
    TensorId x = embed("tokens", s_.sequence_length);
    read_mask_ = b_.input("mask", type_, {m_, s_.sequence_length});
    side_ = Side{"encoder", s_.sequence_length, b_.constant(buckets(s_.sequence_length, true), "encoder_distances")};
    for (std::int64_t i = 0; i < s_.layers; ++i) {
      x = self_attention(i, x);
      x = feed_forward(i, x);
    }
    b_.begin_unit("decoder/embedding", -1, UnitRole::embedding);
    const TensorId read = finish(x, "encoder");
    x = embed("decoder_tokens", s_.target_length);
    side_ = Side{"decoder", s_.target_length, b_.constant(buckets(s_.target_length, false), "decoder_distances")};
    side_.mask = b_.constant(causal_mask(type_, s_.target_length), "causal_mask");
    for (std::int64_t i = s_.layers; i < 2 * s_.layers; ++i) {
      x = self_attention(i, x);
      x = cross_attention(i, x, read);
      x = feed_forward(i, x);
    }
    head(x, use);
  }

 private:
  // What self-attention of a side needs; the table of shifts is made by its first layer and read by the others.
  struct Side {
    std::string name;
    std::int64_t length = 0;
    TensorId distances, mask, table;
  };
  GraphBuilder b_;
  const T5Spec& s_;
  std::int64_t m_;
  DType type_;
  TensorId words_, read_mask_;
  Side side_;

  std::int64_t inner() const { return s_.heads * s_.head_size; }

  TensorId embed(const std::string& name, std::int64_t length) {
    return b_.dropout(b_.gather(words_, b_.input(name, DType::int32, {m_, length})), s_.dropout);
  }
  TensorId norm(TensorId x) { return b_.rms_norm(x, b_.weight("norm_gamma", type_, {s_.hidden}), kT5Epsilon); }
  TensorId finish(TensorId x, const std::string& name) {
    GraphBuilder::Scope scope(b_, name);
    return b_.dropout(norm(x), s_.dropout);
  }
  // x times `parts` weights in one: parts [m, heads, length, head_size]. The weight's columns lie by head, then part,
  // so that splitting them over tensor-parallel IPUs splits heads.
  std::vector<TensorId> heads_of(TensorId x, const std::string& name, std::int64_t parts) {
    const std::int64_t length = b_.info(x).shape[1];
    const TensorId all = b_.matmul(x, b_.weight(name, type_, {s_.hidden, parts * inner()}));
    const TensorId cut = b_.reshape(all, {m_, length, s_.heads, parts, s_.head_size});
    std::vector<TensorId> list =
        b_.split(b_.transpose(cut, {3, 0, 2, 1, 4}), 0, std::vector<std::int64_t>(static_cast<std::size_t>(parts), 1));
    for (TensorId& t : list) t = b_.reshape(t, {m_, s_.heads, length, s_.head_size});
    return list;
  }
  TensorId attend(TensorId x, TensorId query, TensorId key, TensorId value, const std::vector<TensorId>& shifts) {
    TensorId scores = b_.matmul(query, key, false, true, "scores");
    for (TensorId shift : shifts) scores = b_.binary("add", scores, shift);
    const TensorId mixed = b_.matmul(b_.dropout(b_.softmax(scores), s_.dropout), value, false, false, "context");
    const TensorId merged = b_.reshape(b_.transpose(mixed, {0, 2, 1, 3}), {m_, b_.info(query).shape[2], inner()});
    const TensorId out = b_.matmul(merged, b_.weight("out", type_, {inner(), s_.hidden}));
    return b_.binary("add", x, b_.dropout(out, s_.dropout));
  }
  TensorId self_attention(std::int64_t layer, TensorId x) {
    const std::string name = "layer" + std::to_string(layer) + "/attention";
    b_.begin_unit(name, layer, UnitRole::attention);
    GraphBuilder::Scope scope(b_, name);
    if (!side_.table.valid()) side_.table = b_.weight(side_.name + "_shifts", type_, {kBuckets, s_.heads});
    const TensorId shifts = b_.transpose(b_.gather(side_.table, side_.distances), {2, 0, 1});
    const std::vector<TensorId> qkv = heads_of(norm(x), "qkv", 3);
    return attend(x, qkv[0], qkv[1], qkv[2],
                  {b_.reshape(shifts, {1, s_.heads, side_.length, side_.length}),
                   side_.mask.valid() ? side_.mask : padding_mask(b_, read_mask_)});
  }
  TensorId cross_attention(std::int64_t layer, TensorId x, TensorId read) {
    const std::string name = "layer" + std::to_string(layer) + "/cross_attention";
    b_.begin_unit(name, layer, UnitRole::attention);
    GraphBuilder::Scope scope(b_, name);
    const std::vector<TensorId> query = heads_of(norm(x), "query", 1), keyed = heads_of(read, "key_value", 2);
    return attend(x, query[0], keyed[0], keyed[1], {padding_mask(b_, read_mask_)});
  }
  TensorId feed_forward(std::int64_t layer, TensorId x) {
    const std::string name = "layer" + std::to_string(layer) + "/ffn";
    b_.begin_unit(name + "_up", layer, UnitRole::feed_forward);
    TensorId up;
    {
      GraphBuilder::Scope scope(b_, name + "_up");
      const TensorId y = norm(x);
      up = b_.matmul(y, b_.weight("up", type_, {s_.hidden, s_.ffn}));
      up = s_.gated
               ? b_.binary("mul", b_.unary("gelu", b_.matmul(y, b_.weight("gate", type_, {s_.hidden, s_.ffn}))), up)
               : b_.unary("relu", up);
      up = b_.dropout(up, s_.dropout);
    }
    b_.begin_unit(name + "_down", layer, UnitRole::feed_forward);
    GraphBuilder::Scope scope(b_, name + "_down");
    return b_.binary("add", x, b_.dropout(b_.matmul(up, b_.weight("down", type_, {s_.ffn, s_.hidden})), s_.dropout));
  }
  void head(TensorId x, GraphUse use) {
    b_.begin_unit("head", -1, UnitRole::head);
    GraphBuilder::Scope scope(b_, "head");
    x = b_.dropout(norm(x), s_.dropout);
    if (s_.tied_head) x = b_.scale(x, 1 / std::sqrt(static_cast<double>(s_.hidden)));
    const TensorId table = s_.tied_head ? words_ : b_.weight("words", type_, {s_.vocabulary, s_.hidden});
    const TensorId logits = b_.matmul(x, table, false, true, "logits");
    end_in_next_token(b_, {logits, label_input(b_, use, "labels", {m_, s_.target_length})});
  }
};

T5Spec t5(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t head_size,
          std::int64_t ffn, bool second) {
  T5Spec spec;
  spec.name = std::move(name);
  spec.layers = layers, spec.hidden = hidden, spec.heads = heads, spec.head_size = head_size, spec.ffn = ffn;
  spec.gated = second, spec.tied_head = !second;
  spec.source = second ? kT511 : kT5;
  return spec;
}

}  // namespace

std::vector<T5Spec> t5_specs() {
  return {t5("t5-small", 6, 512, 8, 64, 2048, false),     t5("t5-base", 12, 768, 12, 64, 3072, false),
          t5("t5-large", 24, 1024, 16, 64, 4096, false),  t5("t5-3b", 24, 1024, 32, 128, 16384, false),
          t5("t5-11b", 24, 1024, 128, 128, 65536, false), t5("t5-xl", 24, 2048, 32, 64, 5120, true),
          t5("t5-xxl", 24, 4096, 64, 64, 10240, true)};
}

nlohmann::json numbers_of(const T5Spec& s) {
  return {{"layers", s.layers},
          {"hidden", s.hidden},
          {"heads", s.heads},
          {"head_size", s.head_size},
          {"ffn", s.ffn},
          {"vocabulary", s.vocabulary},
          {"sequence_length", s.sequence_length},
          {"target_length", s.target_length},
          {"dropout", s.dropout}};
}

void override_numbers(JsonReader& r, T5Spec& s) {
  s.layers = r.integer_or("layers", 1, 4096, s.layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.heads = r.integer_or("heads", 1, 4096, s.heads);
  s.head_size = r.integer_or("head_size", 1, 1 << 16, s.head_size);
  s.ffn = r.integer_or("ffn", 1, 1 << 22, s.ffn);
  s.vocabulary = r.integer_or("vocabulary", 2, 1 << 24, s.vocabulary);
  s.sequence_length = r.integer_or("sequence_length", 1, 1 << 20, s.sequence_length);
  s.target_length = r.integer_or("target_length", 1, 1 << 20, s.target_length);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
}

Graph build(const T5Spec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("hidden", spec.hidden);
  positive("heads", spec.heads);
  positive("head_size", spec.head_size);
  positive("ffn", spec.ffn);
  positive("vocabulary", spec.vocabulary);
  positive("sequence_length", spec.sequence_length);
  positive("target_length", spec.target_length);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  T5Builder(graph, spec, micro_batch, precision).build(use);
  return graph;
}

}  // namespace superstep::zoo
