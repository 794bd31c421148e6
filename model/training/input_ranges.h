// SPDX-License-Identifier: Apache-2.0
// Which integers an input of a model may hold.
#pragma once

#include <cstdint>

#include "model/graph/graph.h"

namespace superstep {

// The least extent that the integers of `input`, also moved, joined or computed with, pick from: rows of a table,
// classes of a loss. 2 where they pick from nothing: flags.
std::int64_t integer_range(const Graph& graph, TensorId input);

}  // namespace superstep
