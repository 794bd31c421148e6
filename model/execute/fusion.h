// SPDX-License-Identifier: Apache-2.0
// Ops that run one after another on slices of their tensors along one axis, so that what passes between them stays in
// the cache: normalisation with its statistics, activations, their gradients. Only axes that nothing is summed over are
// cut: the bits are those of op by op.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

// An op, and the axis of its iteration space that is cut; where there is but one op it runs whole.
struct FusedOp {
  OpId op;
  std::size_t axis = 0;
};
using Fusion = std::vector<FusedOp>;

// `ops`, in an order in which they may run, as fusions to run one after the other.
std::vector<Fusion> fuse(const Graph& graph, const std::vector<OpId>& ops);

// Runs several ops, the members of context.team taking slices. `value_of` finds operands from outside, null for those
// left out; returned are the results that `kept` names.
std::vector<std::pair<TensorId, Array>> run_fused(const Graph& graph, const Fusion& fusion,
                                                  const KernelContext& context,
                                                  const std::function<const Array*(TensorId)>& value_of,
                                                  const std::function<bool(TensorId)>& kept);

}  // namespace superstep
