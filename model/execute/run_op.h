// SPDX-License-Identifier: Apache-2.0
// One op on the tiles of one IPU.
#pragma once

#include <cstdint>
#include <vector>

#include "model/execute/local.h"
#include "model/execute/tiling.h"

namespace superstep {

// The part of an op's iteration space that one IPU of the mesh computes.
Block rank_block(const Space& space, const OpSharding& sharding, TensorParallel mesh, std::int64_t rank);

// How results lie before the conversions of the op.
std::vector<Sharding> raw_results(const Space& space, const OpSharding& sharding);

// Runs the blocks tile by tile. A tile has the regions that its block reads, copied out of `operands` (null:
// left out or never made) into memory full of poison, and nothing else. Results cover what `mine` writes;
// what no tile wrote, or a tile that the IPU does not have, stays poison. What tiles have of the same results are
// partial sums: of products in the type that context.partials says, of others in fp32, added in the order of the tiles.
std::vector<Local> run_tiles(const OpCall& call, const Space& space, const Block& mine,
                             const std::vector<TileBlock>& blocks, std::int64_t tiles,
                             const std::vector<LocalPtr>& operands, const KernelContext& context);

}  // namespace superstep
