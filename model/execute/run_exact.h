// SPDX-License-Identifier: Apache-2.0
// One op on one IPU in exact mode: the IPU's share in one piece, as an IPU that keeps sums unrounded would do it. Which
// tile does what decides nothing here; what the IPU was brought does.
#pragma once

#include <cstdint>
#include <vector>

#include "model/execute/local.h"

namespace superstep {

struct Share {
  Block block;                 // of the op's iteration space
  std::vector<Block> parts;    // of it, as far as the replica does it: slices of an update
  std::vector<Sharding> lies;  // by result
  // Of how many micro-batches the results are sums, and which of them this is, in the order of their samples.
  std::int64_t micro_batches = 1, micro_batch = 0;
  bool contiguous = true;       // of such a sum: the micro-batch's steps are a run of the whole batch's
  std::int64_t shares = 1;      // of the results, if they are sums: of micro-batches, IPUs, replicas
  std::int64_t own_shares = 1;  // those that are left when the operands are whole
};

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
