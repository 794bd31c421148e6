// SPDX-License-Identifier: Apache-2.0
#include "model/lower/op_uses.h"

namespace superstep {

OpUse::OpUse(const Graph& graph, OpId op) : call(graph, op), space(graph.ops[op].def->space(*call)) {
  extents.reserve(space.axes.size());
  for (const Axis& axis : space.axes) extents.push_back(axis.extent);
}

double product_flops(const OpUse& use) {
  if (!use.call->def.product) return 0;
  double flops = 2;
  for (std::int64_t extent : use.extents) flops *= static_cast<double>(extent);
  return flops;
}

OpUses::OpUses(const Graph& graph) : graph_(graph), slots_(std::make_unique<Slot[]>(graph.ops.size())) {}

const OpUse& OpUses::of(OpId op) const {
  Slot& slot = slots_[static_cast<std::size_t>(op.index)];
  std::call_once(slot.made, [&] { slot.use = std::make_unique<const OpUse>(graph_, op); });
  return *slot.use;
}

}  // namespace superstep
