// SPDX-License-Identifier: Apache-2.0
// Models built from a few numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/graph/graph.h"

namespace superstep {

// The numbers of a transformer; a job may override any by its name.
struct TransformerSpec {
  std::string name;    // "bert-large"
  std::string family;  // "bert" or "gpt"
  std::int64_t layers = 0, hidden = 0, heads = 0, ffn = 0, vocabulary = 0;
  std::int64_t sequence_length = 0;  // of this job
  std::int64_t positions = 0;        // rows of the position table, at least sequence_length
  std::int64_t masked_tokens = 0;    // bert: rows of the masked-language head per sample; 0: no head over all tokens
  bool packed = false;               // bert: several sequences in one sample, attention mask per pair of positions
  double dropout = 0.1;              // after embeddings, attention output and feed-forward
  double attention_dropout = 0.0;
  bool next_sentence = true;  // bert: pooler and two-way head
  std::string source;         // where the numbers come from
};

std::vector<std::string> zoo_names();
TransformerSpec zoo_spec(const std::string& name);  // throws Error with the nearest name

// The forward graph with loss for `micro_batch` samples. Weights and activations have type
// `precision`. Units: "embedding", per layer "layerN/attention", "layerN/ffn_up", "layerN/ffn_down",
// then "head".
Graph build(const TransformerSpec& spec, std::int64_t micro_batch, DType precision);

}  // namespace superstep
