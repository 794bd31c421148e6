// SPDX-License-Identifier: Apache-2.0
#include "model/ops/product.h"

#include <algorithm>

#include "model/error.h"

namespace superstep::ops {

ContractionPart part_of(const KernelContext& context, std::int64_t steps) {
  if (!context.contraction) {
    const numerics::ContractionTree tree(steps, context.chunk);
    return {tree, tree.root()};
  }
  ContractionPart part = *context.contraction;
  part.node.end = std::min(part.node.end, part.tree.extent());
  SUPERSTEP_CHECK(part.node.extent() == steps, "a block has the steps of its node");
  return part;
}

}  // namespace superstep::ops
