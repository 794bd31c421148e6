// SPDX-License-Identifier: Apache-2.0
#include "model/training/input_ranges.h"

#include <algorithm>
#include <vector>

#include "model/ops/op.h"

namespace superstep {

namespace {

constexpr std::int64_t kFlags = 2;

bool holds_integers(DType type) { return !is_float(type) && type != DType::boolean; }

// What operand k of an op picks from; 0: it does not pick.
std::int64_t picked_extent(const Graph& graph, const Op& op, std::size_t k) {
  if (k != 1 || (op.def->name != "gather" && op.def->name != "pick")) return 0;
  const Shape& from = graph.info(op.inputs[0]).shape;
  if (op.def->name == "pick") return from.back();
  const std::int64_t axis = op.attrs.integer("axis");
  return from[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(from.size()) : axis)];
}

}  // namespace

std::int64_t integer_range(const Graph& graph, TensorId input) {
  std::vector<bool> reached(graph.tensors.size());
  reached[static_cast<std::size_t>(input.index)] = true;
  std::int64_t least = 0;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    bool any = false;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid() || !reached[static_cast<std::size_t>(op.inputs[k].index)]) continue;
      const std::int64_t extent = picked_extent(graph, op, k);
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
