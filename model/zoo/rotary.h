// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su et al. 2021, arXiv 2104.09864): pairs of elements of a query or key are turned by the angle of
// its position, so that scores depend on distances.
#pragma once

#include "model/graph/builder.h"

namespace superstep::zoo {

// Which elements are a pair: neighbours (GPT-J), or one of the first half with one of the second (Llama).
enum class Pairs : std::uint8_t { neighbours, halves };

struct Rotation {
  TensorId cosine, sine;    // [positions, pairs, 1] of neighbours, [positions, pairs] of halves
  std::int64_t turned = 0;  // elements of a head, from the first on; even
  Pairs pairs = Pairs::halves;
};

// `base`: the last pair turns so many times slower than the first, nearly.
Rotation make_rotation(GraphBuilder& b, DType type, std::int64_t positions, std::int64_t turned, Pairs pairs,
                       double base = 1e4);

// x [..., positions, d] with its first elements turned.
TensorId turn(GraphBuilder& b, TensorId x, const Rotation& rotation);

}  // namespace superstep::zoo
