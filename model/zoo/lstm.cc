// SPDX-License-Identifier: Apache-2.0
// Language models of recurrent layers, unrolled over the words of a sample: a table of words, layers, a head.
#include <nlohmann/json.hpp>

#include "model/graph/recurrent.h"
#include "model/zoo/families.h"
#include "model/zoo/heads.h"

namespace superstep::zoo {

namespace {

constexpr const char* kZaremba = "Zaremba et al. 2014 (arXiv 1409.2329) section 4.1, Penn Treebank";

// [m, steps, width] to [m, steps, hidden].
TensorId lstm_layer(GraphBuilder& b, const LstmSpec& spec, std::int64_t number, TensorId x, DType type) {
  const std::string name = "layer" + std::to_string(number);
  b.begin_unit(name, number);
  GraphBuilder::Scope scope(b, name);
  const std::int64_t inputs = b.info(x).shape[2], h = spec.hidden;
  LstmWeights weights;
  weights.input = b.weight("input", type, {4 * h, inputs});
  weights.recurrent = b.weight("recurrent", type, {4 * h, h});
  weights.bias = b.weight("bias", type, {4 * h});
  const TensorId all = lstm(b, b.transpose(x, {1, 0, 2}), weights, {}, {}, false).all;
  return b.dropout(b.transpose(all, {1, 0, 2}), spec.dropout);
}

LstmSpec network(std::string name, std::int64_t hidden, double dropout) {
  LstmSpec spec;
  spec.name = std::move(name);
  spec.layers = 2, spec.hidden = hidden, spec.dropout = dropout;
  spec.source = kZaremba;
  return spec;
}

}  // namespace

std::vector<LstmSpec> lstm_specs() { return {network("lstm", 650, 0.5), network("lstm-large", 1500, 0.65)}; }

nlohmann::json numbers_of(const LstmSpec& s) {
  return {{"layers", s.layers},
          {"hidden", s.hidden},
          {"vocabulary", s.vocabulary},
          {"sequence_length", s.steps},
          {"dropout", s.dropout}};
}

void override_numbers(JsonReader& r, LstmSpec& s) {
  s.layers = r.integer_or("layers", 1, 64, s.layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.vocabulary = r.integer_or("vocabulary", 2, 1 << 24, s.vocabulary);
  s.steps = r.integer_or("sequence_length", 1, 1024, s.steps);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
}

Graph build(const LstmSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("hidden", spec.hidden);
  positive("vocabulary", spec.vocabulary);
  positive("sequence_length", spec.steps);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  b.begin_unit("embedding", -1, UnitRole::embedding);
  const TensorId words = b.weight("embedding/words", precision, {spec.vocabulary, spec.hidden});
  const TensorId tokens = b.input("tokens", DType::int32, {micro_batch, spec.steps});
  TensorId x = b.dropout(b.gather(words, tokens), spec.dropout);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = lstm_layer(b, spec, i, x, precision);

  b.begin_unit("head", -1, UnitRole::head);
  GraphBuilder::Scope scope(b, "head");
  const TensorId weight = b.weight("words", precision, {spec.hidden, spec.vocabulary});
  const TensorId bias = b.weight("words_bias", precision, {spec.vocabulary});
  const TensorId logits = b.linear(x, weight, bias);
  end_in_next_token(b, {logits, label_input(b, use, "labels", {micro_batch, spec.steps})});
  return graph;
}

}  // namespace superstep::zoo
