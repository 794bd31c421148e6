// SPDX-License-Identifier: Apache-2.0
#include "model/training/input_ranges.h"

#include <algorithm>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

namespace {

constexpr std::int64_t kFlags = 2;

bool holds_integers(DType type) { return !is_float(type) && type != DType::boolean; }

// What operand k of an op picks from; 0: it does not pick.
std::int64_t picked_extent(const Graph& graph, OpId id, std::size_t k) {
  const OpDef& def = *graph.ops[id].def;
  if (k != 1 || def.lookup != Lookup::takes) return 0;
  const std::vector<Axis> axes = def.space(*CallOf(graph, id)).axes;
  return std::ranges::find(axes, AxisKind::reduce, &Axis::kind)->extent;
}

}  // namespace

std::int64_t integer_range(const Graph& graph, TensorId input) {
  std::vector<bool> reached(graph.tensors.size());
  reached[static_cast<std::size_t>(input.index)] = true;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.pass != Pass::forward) continue;
    bool any = false;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid() || !reached[static_cast<std::size_t>(op.inputs[k].index)]) continue;
      const std::int64_t extent = picked_extent(graph, OpId(i), k);
      if (extent > 0) least = least == 0 ? extent : std::min(least, extent);
      any = any || extent == 0;  // picked values are others
    }
    for (TensorId t : op.outputs) {
      if (any && holds_integers(graph.info(t).type)) reached[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return least == 0 ? kFlags : least;
}

}  // namespace superstep
