// SPDX-License-Identifier: Apache-2.0
// Values and a network for tests of graphs.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "model/execute/evaluate.h"
#include "model/zoo/zoo.h"

namespace superstep {

// Uniform values for every weight, state and input without data: weights small, integers from 0 to `limit`.
inline Values random_feeds(const Graph& graph, std::uint32_t seed, std::int64_t limit) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(-0.5, 0.5);
  Values feeds;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.producer.valid() || tensor.kind == TensorKind::constant) continue;
    Array array(tensor.info);
    for (std::int64_t k = 0; k < tensor.info.elements(); ++k) {
      const double u = any(random);
      if (tensor.kind == TensorKind::optimizer_state) continue;
      array.set(k, is_float(tensor.info.type) ? u : std::floor((u + 0.5) * static_cast<double>(limit)));
    }
    feeds[TensorId(i)] = std::move(array);
  }
  return feeds;
}

// A transformer of the zoo with two layers and small extents.
inline TransformerSpec tiny(const std::string& name) {
  TransformerSpec spec = transformer_spec(name);
  spec.layers = 2;
  spec.hidden = 12;
  spec.heads = 3;
  spec.ffn = 20;
  spec.vocabulary = 17;
  spec.sequence_length = 6;
  spec.positions = 8;
  spec.masked_tokens = std::min<std::int64_t>(spec.masked_tokens, 3);
  return spec;
}

}  // namespace superstep
