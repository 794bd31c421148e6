// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "model/graph/graph.h"
#include "model/ops/op.h"

namespace superstep {

using Values = std::map<TensorId, Array>;

// Runs one op on whole tensors.
std::vector<Array> evaluate_op(const OpCall& call, std::span<const Array* const> inputs, const KernelContext& context);

// The reference: every op of the graph on whole tensors, in order. `feeds` has all inputs, weights
// and optimizer states that carry no data of their own. Throws Error naming a tensor without values.
Values evaluate(const Graph& graph, Values feeds, const KernelContext& context);

}  // namespace superstep
