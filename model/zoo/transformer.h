// SPDX-License-Identifier: Apache-2.0
// What BERT and GPT share. All weights are named by their place, "layer3/attention/qkv".
#pragma once

#include <functional>
#include <string>

#include "model/graph/builder.h"
#include "model/zoo/families.h"

namespace superstep::zoo {

constexpr double kMasked = -10000;  // added to a score: fits half, and its exponential is 0

struct Context {
  GraphBuilder& b;
  const TransformerSpec& spec;
  std::int64_t micro_batch;
  DType type;
  GraphUse use;

  Shape tokens() const { return {micro_batch, spec.sequence_length}; }
};

TensorId dense(const Context& c, const std::string& name, TensorId x, std::int64_t columns);  // x W + bias
TensorId layer_norm(const Context& c, const std::string& name, TensorId x);

// Added to the scores of all heads: [m or 1, 1, s or 1, s]. Empty: none.
using Mask = std::function<TensorId()>;

// Multi-head self-attention without normalisation and residual: [m, s, h] to [m, s, h].
//
// One matrix product makes queries, keys and values: its weight "qkv" is [h, heads * 3 * d], columns
// ordered by head, then query, key, value, then element, so that splitting its columns over tensor-
// parallel IPUs splits heads. (A [h, 3 h] weight ordered query, key, value first could not be cut
// into contiguous parts by head.) The output projection "out" is [h, h], rows by head.
TensorId attention(const Context& c, TensorId x, const Mask& mask);

// A layer with normalisation ahead of its parts, three units: "layerN/attention", "layerN/ffn_up", "layerN/ffn_down".
TensorId pre_norm_layer(const Context& c, std::int64_t number, TensorId x, const Mask& mask);

// Of element i of `width` at a position: pairs share an angle, and turn slower from pair to pair, the last one nearly
// `base` times slower than the first.
double position_angle(double position, std::int64_t i, std::int64_t width, double base = 1e4);
// [m, 1, 1, s] of a mask [m, s]: 0 for its ones, which are tokens, kMasked for its zeros, which are padding.
TensorId padding_mask(GraphBuilder& b, TensorId mask);
// [1, 1, s, s]: 0 on and below the diagonal, above it what the softmax makes nothing of. Graphs that are there at the
// same time share it: of 2048 positions it is 8 MiB, and a search has a graph for each size of micro-batch.
std::shared_ptr<const Array> causal_mask(DType type, std::int64_t s);

Graph build_bert(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);
Graph build_gpt(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);
Graph build_gptj(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

}  // namespace superstep::zoo
