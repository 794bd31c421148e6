// SPDX-License-Identifier: Apache-2.0
// One op on one IPU in exact mode: the IPU's share in one piece, as an IPU that keeps sums unrounded would do it. Which
// tile does what decides nothing here; what the IPU was brought does.
#pragma once

#include <cstdint>
#include <vector>

#include "model/execute/local.h"

namespace superstep {

// The results, or what there is of them. Poison where an operand lacks what the share reads; null operands are such
// that were not brought, or left out by the graph.
std::vector<Local> run_share(const OpCall& call, OpId op, const Space& space, const Share& share,
                             const std::vector<LocalPtr>& operands, const KernelContext& context);

// Of a share of a contraction: the steps it has, of those of the whole batch, and how these are summed.
struct ContractionCut {
  numerics::ContractionTree tree;
  std::vector<numerics::StepRange> nodes;  // none: no nodes make the share up
};
ContractionCut cut_of(const Space& space, const Share& share, std::int64_t chunk);

}  // namespace superstep
