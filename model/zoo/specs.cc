// SPDX-License-Identifier: Apache-2.0
// The numbers of the transformers, with where they come from, and what a job may change of them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/zoo/families.h"

namespace superstep::zoo {

namespace {

constexpr const char* kBert = "Devlin et al. 2018 (arXiv 1810.04805); vocabulary of the published uncased checkpoints";
constexpr const char* kGpt2 = "Radford et al. 2019; layers, hidden and heads of the published checkpoints";
constexpr const char* kGpt3 = "Brown et al. 2020 (arXiv 2005.14165) table 2.1";
constexpr const char* kMegatron = "Narayanan et al. 2021 (arXiv 2104.04473) table 1: 1008 billion parameters";
constexpr const char* kGptJ = "Wang and Komatsuzaki 2021, the published checkpoint";

// By BertHead.
const std::vector<std::string>& head_names() {
  static const std::vector<std::string> names = {"masked_language", "question_answering", "classification",
                                                 "embeddings"};
  return names;
}

TransformerSpec bert(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  TransformerSpec spec{.name = std::move(name), .family = "bert", .layers = layers, .hidden = hidden, .heads = heads};
  spec.ffn = 4 * hidden;
  spec.vocabulary = 30522;
  spec.sequence_length = spec.positions = 512;
  spec.masked_tokens = 76;  // per 512 tokens in the reference implementation and MLPerf
  spec.attention_dropout = 0.1;
  spec.source = kBert;
  return spec;
}

TransformerSpec gpt(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                    std::int64_t sequence, const char* source) {
  TransformerSpec spec{.name = std::move(name), .family = "gpt", .layers = layers, .hidden = hidden, .heads = heads};
  spec.ffn = 4 * hidden;
  spec.vocabulary = 50257;
  spec.sequence_length = spec.positions = sequence;
  spec.next_sentence = false;
  spec.attention_dropout = 0.1;
  spec.source = source;
  return spec;
}

}  // namespace

std::vector<TransformerSpec> transformer_specs() {
  std::vector<TransformerSpec> specs = {
      bert("bert-base", 12, 768, 12),
      bert("bert-large", 24, 1024, 16),
      gpt("gpt2-small", 12, 768, 12, 1024, kGpt2),
      gpt("gpt2-medium", 24, 1024, 16, 1024, kGpt2),
      gpt("gpt2-large", 36, 1280, 20, 1024, kGpt2),
      gpt("gpt2-xl", 48, 1600, 25, 1024, kGpt2),
      gpt("gpt3-2.7b", 32, 2560, 32, 2048, kGpt3),
      gpt("gpt3-6.7b", 32, 4096, 32, 2048, kGpt3),
      gpt("gpt3-13b", 40, 5120, 40, 2048, kGpt3),  // the table's 5140 is not a multiple of the heads
      gpt("gpt3-175b", 96, 12288, 96, 2048, kGpt3),
      gpt("gpt-1t", 128, 25600, 160, 2048, kMegatron),
      gpt("gptj-6b", 28, 4096, 16, 2048, kGptJ),
  };
  for (TransformerSpec& spec : specs) {
    if (spec.name == "gpt-1t") spec.vocabulary = 51200;
    if (spec.name == "gptj-6b") spec.vocabulary = 50400;
    if (spec.name == "gpt-1t" || spec.name == "gptj-6b" || spec.name.starts_with("gpt3")) {
      spec.dropout = spec.attention_dropout = 0;  // trained for one pass over the data
    }
  }
  return specs;
}

nlohmann::json numbers_of(const TransformerSpec& s) {
  nlohmann::json numbers = {{"layers", s.layers},
                            {"hidden", s.hidden},
                            {"heads", s.heads},
                            {"ffn", s.ffn},
                            {"vocabulary", s.vocabulary},
                            {"sequence_length", s.sequence_length},
                            {"positions", s.positions},
                            {"dropout", s.dropout},
                            {"attention_dropout", s.attention_dropout}};
  if (s.family == "bert") {  // nothing of a gpt reads these
    numbers["head"] = head_names()[static_cast<std::size_t>(s.head)];
    numbers["masked_tokens"] = s.masked_tokens;
    numbers["classes"] = s.classes;
    numbers["packed"] = s.packed;
    numbers["sequences_per_pack"] = s.sequences_per_pack;
  }
  return numbers;
}

namespace {

void override_head(JsonReader& r, TransformerSpec& s) {
  const std::string& own = head_names()[static_cast<std::size_t>(s.head)];
  const auto found = std::ranges::find(head_names(), r.name_or("head", head_names(), own));
  s.head = static_cast<BertHead>(found - head_names().begin());
  const bool masked = s.head == BertHead::masked_language;
  if (!masked) s.masked_tokens = 0;
  s.masked_tokens = r.integer_or("masked_tokens", 0, s.sequence_length, std::min(s.masked_tokens, s.sequence_length));
  if (!masked && s.masked_tokens > 0)
    throw Error(r.at("masked_tokens"),
                "found with the head \"" + *found +
                    "\", which predicts no masked tokens; expected the head \"masked_language\"");
  s.classes = r.integer_or("classes", 2, 1 << 24, s.classes);
  if (s.head != BertHead::classification && r.has("classes"))
    throw Error(r.at("classes"), "found with the head \"" + *found + "\", expected the head \"classification\"");
  s.packed = r.boolean_or("packed", s.packed);
  s.sequences_per_pack = r.number_or("sequences_per_pack", 0, 1024, s.sequences_per_pack);
  if (s.sequences_per_pack > 0 && !s.packed)
    throw Error(r.at("sequences_per_pack"), "found without \"packed\": true; expected both or neither");
  if (s.sequences_per_pack > 0 && s.sequences_per_pack < 1)
    throw Error(r.at("sequences_per_pack"), "found less than 1 sequence, expected at least 1, or 0 if it is not known");
}

}  // namespace

void override_numbers(JsonReader& r, TransformerSpec& s) {
  s.layers = r.integer_or("layers", 1, 4096, s.layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.heads = r.integer_or("heads", 1, 4096, s.heads);
  s.ffn = r.integer_or("ffn", 1, 1 << 22, s.ffn);
  s.vocabulary = r.integer_or("vocabulary", 2, 1 << 24, s.vocabulary);
  s.sequence_length = r.integer_or("sequence_length", 1, 1 << 20, s.sequence_length);
  s.positions = r.integer_or("positions", 1, 1 << 20, std::max(s.positions, s.sequence_length));
  if (s.family == "bert") override_head(r, s);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
  s.attention_dropout = r.number_or("attention_dropout", 0, 0.99, s.attention_dropout);
  if (s.hidden % s.heads != 0)
    throw Error(r.at("heads"),
                "found " + std::to_string(s.heads) + " heads, which do not divide hidden " + std::to_string(s.hidden));
  if (s.positions < s.sequence_length)
    throw Error(r.at("positions"), "found " + std::to_string(s.positions) + ", expected at least sequence_length " +
                                       std::to_string(s.sequence_length));
}

}  // namespace superstep::zoo
