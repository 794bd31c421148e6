// SPDX-License-Identifier: Apache-2.0
// Which blocks of an op's iteration space the tiles of one IPU compute.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/op_def.h"
#include "model/program/program.h"

namespace superstep {

struct TileBlock {
  std::int64_t tile = 0;
  Block block;
};

// Boxes that make up positions [begin, end) of the row-major order of a block's points; axes that
// `moves` leaves out are taken whole.
std::vector<Block> boxes_of(const Block& block, const std::vector<int>& moves, Range positions);

// The blocks of `mine` under the grid of a compute step: parts of {batch, rows, columns, contracted} of a
// matrix product, of {parallel, reduce} axes of any other op, every group of axes flattened and cut into
// even contiguous shares. Throws InternalError when the grid does not suit the op.
std::vector<TileBlock> tile_blocks(const OpCall& call, const Space& space, const Block& mine, const Step& step);

// All in one block, on tile 0: views.
std::vector<TileBlock> one_block(const Block& mine);

}  // namespace superstep
