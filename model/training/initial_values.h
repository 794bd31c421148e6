// SPDX-License-Identifier: Apache-2.0
// What weights and optimizer states hold before the first step.
#pragma once

#include <cstdint>

#include "model/graph/graph.h"
#include "model/training/named_values.h"

namespace superstep {

enum class WeightSource : std::uint8_t {
  stored,           // as the graph has them; one without values is an Error that offers to draw them
  stored_or_drawn,  // the rest is drawn
  drawn,            // all of them
};

// Drawn weights, by the seed and their names, after what the forward pass does with them:
//   conv                                   mean 0, variance 2 / fan-in (He et al. 2015)
//   a product, a lookup, or two axes or more   mean 0, standard deviation 0.02 (as BERT and GPT-2)
//   one axis: a factor, divisor, or under a root   1: scales and variances
//   one axis: anything else                0: biases and means
// Optimizer states begin at 0, master copies as their weights.
NamedValues initial_values(const Graph& graph, WeightSource source, std::uint64_t seed);

}  // namespace superstep
