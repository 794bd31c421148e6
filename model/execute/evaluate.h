// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "model/graph/graph.h"
#include "model/graph/op_def.h"

namespace superstep {

using Values = std::map<TensorId, Array>;

// Where the results of an op lie in the tensors of the whole global batch.
std::vector<ResultPlace> result_places(const Graph& graph, OpId op, const KernelContext& context);

// The reference: every op of the graph on whole tensors, in order. `feeds` has all inputs, weights
// and optimizer states that carry no data of their own. Throws Error naming a tensor without values.
Values evaluate(const Graph& graph, Values feeds, const KernelContext& context);

// The same, of which only `wanted` is returned: a result that no later op reads is freed, and ops that nothing wanted
// comes from are left out. Ops are fused.
Values evaluate(const Graph& graph, const Values& feeds, const KernelContext& context,
                std::span<const TensorId> wanted);

// What a step of training or inference is run for: outputs, loss, gradients of weights and updated values.
std::vector<TensorId> outcomes(const Graph& graph);

}  // namespace superstep
