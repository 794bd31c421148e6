// SPDX-License-Identifier: Apache-2.0
// Llama, and Mistral and Qwen, which are built alike: scaling by the root mean square ahead of each part, queries and
// keys turned by their position, several heads of queries to one of keys and values, a feed-forward part that SiLU
// gates, causal, no biases but those of Qwen 2.5.
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/zoo/heads.h"
#include "model/zoo/rotary.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr const char* kLlama2 = "Touvron et al. 2023 (arXiv 2307.09288); the published checkpoints";
constexpr const char* kLlama3 = "Dubey et al. 2024 (arXiv 2407.21783); the published checkpoints";
constexpr const char* kMistral =
    "Jiang et al. 2023 (arXiv 2310.06825), version 0.1; windows of 4096 tokens are left out";
constexpr const char* kQwen25 = "Qwen2.5 Technical Report (arXiv 2412.15115); the published checkpoints";
constexpr const char* kQwen3 = "Qwen3 Technical Report (arXiv 2505.09388); the published checkpoints";

class LlamaBuilder {
 public:
  LlamaBuilder(Graph& graph, const LlamaSpec& spec, std::int64_t micro_batch, DType precision)
      : b_(graph), s_(spec), m_(micro_batch), type_(precision) {}

  void build(GraphUse use) {
    const Shape tokens{m_, s_.sequence_length};
    b_.begin_unit("embedding", -1, UnitRole::embedding);
    const TensorId table = b_.weight("embedding/tokens", type_, {s_.vocabulary, s_.hidden});
    const TensorId ids = b_.input("tokens", DType::int32, tokens);
    mask_ = b_.constant(causal_mask(type_, s_.sequence_length), "causal_mask");
    rotation_ = make_rotation(b_, type_, s_.sequence_length, s_.head_size, Pairs::halves, s_.rotary_base);
    TensorId x = b_.gather(table, ids);
    for (std::int64_t i = 0; i < s_.layers; ++i) x = feed_forward(i, attention(i, x));

    b_.begin_unit("head", -1, UnitRole::head);
    const TensorId labels = label_input(b_, use, "labels", tokens);
    GraphBuilder::Scope scope(b_, "head");
    x = norm("norm", x);
    const TensorId words = s_.tied_head ? table : b_.weight("words", type_, {s_.vocabulary, s_.hidden});
    end_in_next_token(b_, {b_.matmul(x, words, false, true, "logits"), labels});
  }

 private:
  GraphBuilder b_;
  const LlamaSpec& s_;
  std::int64_t m_;
  DType type_;
  TensorId mask_;
  Rotation rotation_;

  TensorId norm(const std::string& name, TensorId x) {
    return b_.rms_norm(x, b_.weight(name + "_gamma", type_, {b_.info(x).shape.back()}), s_.norm_epsilon);
  }
  // Of queries or keys [..., sequence, head_size].
  TensorId turned(const std::string& name, TensorId x) {
    return turn(b_, s_.query_key_norm ? norm(name, x) : x, rotation_);
  }

  // One matrix product makes queries, keys and values. Its columns lie by group, then the group's heads of queries, its
  // key and its value, so that splitting them over tensor-parallel IPUs splits groups. The queries of a group stand
  // below each other, and meet its key in one product.
  TensorId attention(std::int64_t layer, TensorId x) {
    const std::string name = "layer" + std::to_string(layer) + "/attention";
    b_.begin_unit(name, layer, UnitRole::attention);
    GraphBuilder::Scope scope(b_, name);
    const std::int64_t groups = s_.key_value_heads, share = s_.heads / groups, d = s_.head_size;
    const std::int64_t s = s_.sequence_length, columns = groups * (share + 2) * d;
    const TensorId y = norm("norm", x), weight = b_.weight("qkv", type_, {s_.hidden, columns});
    const TensorId qkv = b_.linear(y, weight, s_.qkv_bias ? b_.weight("qkv_bias", type_, {columns}) : TensorId{});
    const TensorId apart = b_.transpose(b_.reshape(qkv, {m_, s, groups, share + 2, d}), {0, 2, 3, 1, 4});
    const std::vector<TensorId> parts = b_.split(apart, 2, {share, 1, 1});  // [m, groups, share or 1, s, d]
    const TensorId query = b_.reshape(turned("query_norm", parts[0]), {m_, groups, share * s, d});
    const TensorId key = b_.reshape(turned("key_norm", parts[1]), {m_, groups, s, d});
    const TensorId value = b_.reshape(parts[2], {m_, groups, s, d});
    TensorId scores = b_.matmul(query, key, false, true, "scores");
    scores = b_.reshape(b_.scale(scores, 1 / std::sqrt(static_cast<double>(d))), {m_, groups, share, s, s});
    const TensorId weights = b_.reshape(b_.softmax(b_.binary("add", scores, mask_)), {m_, groups, share * s, s});
    const TensorId mixed = b_.reshape(b_.matmul(weights, value, false, false, "context"), {m_, groups, share, s, d});
    const TensorId merged = b_.reshape(b_.transpose(mixed, {0, 3, 1, 2, 4}), {m_, s, s_.heads * d});
    return b_.binary("add", x, b_.matmul(merged, b_.weight("out", type_, {s_.heads * d, s_.hidden})));
  }

  TensorId feed_forward(std::int64_t layer, TensorId x) {
    const std::string name = "layer" + std::to_string(layer) + "/ffn";
    b_.begin_unit(name + "_up", layer, UnitRole::feed_forward);
    TensorId up;
    {
      GraphBuilder::Scope scope(b_, name + "_up");
      const TensorId y = norm("norm", x);
      const TensorId gate = b_.unary("swish", b_.matmul(y, b_.weight("gate", type_, {s_.hidden, s_.ffn})));
      up = b_.binary("mul", gate, b_.matmul(y, b_.weight("up", type_, {s_.hidden, s_.ffn})));
    }
    b_.begin_unit(name + "_down", layer, UnitRole::feed_forward);
    GraphBuilder::Scope scope(b_, name + "_down");
    return b_.binary("add", x, b_.matmul(up, b_.weight("down", type_, {s_.ffn, s_.hidden})));
  }
};

// key_value_heads and head_size are given with heads.
struct Heads {
  std::int64_t heads, key_value_heads, head_size;
};

LlamaSpec llama(std::string name, std::int64_t layers, std::int64_t hidden, Heads heads, std::int64_t ffn,
                std::int64_t vocabulary, const char* source) {
  LlamaSpec spec;
  spec.name = std::move(name);
  spec.layers = layers, spec.hidden = hidden, spec.ffn = ffn, spec.vocabulary = vocabulary;
  spec.heads = heads.heads, spec.key_value_heads = heads.key_value_heads, spec.head_size = heads.head_size;
  spec.source = source;
  return spec;
}

}  // namespace

std::vector<LlamaSpec> llama_specs() {
  std::vector<LlamaSpec> specs = {
      llama("llama2-7b", 32, 4096, {32, 32, 128}, 11008, 32000, kLlama2),
      llama("llama2-13b", 40, 5120, {40, 40, 128}, 13824, 32000, kLlama2),
      llama("llama2-70b", 80, 8192, {64, 8, 128}, 28672, 32000, kLlama2),
      llama("llama3-8b", 32, 4096, {32, 8, 128}, 14336, 128256, kLlama3),
      llama("llama3-70b", 80, 8192, {64, 8, 128}, 28672, 128256, kLlama3),
      llama("llama3.2-1b", 16, 2048, {32, 8, 64}, 8192, 128256, kLlama3),
      llama("llama3.2-3b", 28, 3072, {24, 8, 128}, 8192, 128256, kLlama3),
      llama("mistral-7b", 32, 4096, {32, 8, 128}, 14336, 32000, kMistral),
      llama("qwen2.5-0.5b", 24, 896, {14, 2, 64}, 4864, 151936, kQwen25),
      llama("qwen2.5-7b", 28, 3584, {28, 4, 128}, 18944, 152064, kQwen25),
      llama("qwen3-0.6b", 28, 1024, {16, 8, 128}, 3072, 151936, kQwen3),
      llama("qwen3-8b", 36, 4096, {32, 8, 128}, 12288, 151936, kQwen3),
  };
  for (LlamaSpec& spec : specs) {
    const auto is = [&](const char* start) { return spec.name.starts_with(start); };
    spec.tied_head = is("llama3.2") || is("qwen2.5-0.5b") || is("qwen3-0.6b");
    spec.qkv_bias = is("qwen2.5");
    spec.query_key_norm = is("qwen3");
    if (is("llama3")) spec.rotary_base = 5e5;
    if (is("qwen")) spec.rotary_base = 1e6, spec.norm_epsilon = 1e-6;
  }
  return specs;
}

nlohmann::json numbers_of(const LlamaSpec& s) {
  return {{"layers", s.layers},         {"hidden", s.hidden},
          {"heads", s.heads},           {"key_value_heads", s.key_value_heads},
          {"head_size", s.head_size},   {"ffn", s.ffn},
          {"vocabulary", s.vocabulary}, {"sequence_length", s.sequence_length}};
}

void override_numbers(JsonReader& r, LlamaSpec& s) {
  s.layers = r.integer_or("layers", 1, 4096, s.layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.heads = r.integer_or("heads", 1, 4096, s.heads);
  s.key_value_heads = r.integer_or("key_value_heads", 1, 4096, std::min(s.key_value_heads, s.heads));
  s.head_size = r.integer_or("head_size", 2, 1 << 16, s.head_size);
  s.ffn = r.integer_or("ffn", 1, 1 << 22, s.ffn);
  s.vocabulary = r.integer_or("vocabulary", 2, 1 << 24, s.vocabulary);
  s.sequence_length = r.integer_or("sequence_length", 1, 1 << 20, s.sequence_length);
  if (s.heads % s.key_value_heads != 0)
    throw Error(r.at("key_value_heads"), "found " + std::to_string(s.key_value_heads) + ", which does not divide the " +
                                             std::to_string(s.heads) + " heads");
  if (s.head_size % 2 != 0)
    throw Error(r.at("head_size"),
                "found " + std::to_string(s.head_size) + ", expected an even number: elements are turned in pairs");
}

Graph build(const LlamaSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("hidden", spec.hidden);
  positive("heads", spec.heads);
  positive("key_value_heads", spec.key_value_heads);
  positive("head_size", spec.head_size);
  positive("ffn", spec.ffn);
  positive("vocabulary", spec.vocabulary);
  positive("sequence_length", spec.sequence_length);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  LlamaBuilder(graph, spec, micro_batch, precision).build(use);
  return graph;
}

}  // namespace superstep::zoo
