// SPDX-License-Identifier: Apache-2.0
#include "model/execute/tiling.h"

#include "model/error.h"
#include "model/execute/local.h"
#include "model/ops/product_def.h"

namespace superstep {

namespace {

// Axes that are flattened and cut together: into `runs` one after the other, each into `parts` tiles.
struct Group {
  std::vector<int> axes;
  std::int64_t parts = 1;
  std::int64_t runs = 1;
};

Range& along(Block& block, int axis) { return block[static_cast<std::size_t>(axis)]; }

std::int64_t positions_of(const Block& block, const std::vector<int>& axes) {
  std::int64_t n = 1;
  for (int axis : axes) n *= block[static_cast<std::size_t>(axis)].extent();
  return n;
}

// Appends the boxes of [begin, end) of the axes from number `at` on, inside `box`.
void add_boxes(const std::vector<int>& axes, std::size_t at, Range range, Block box, std::vector<Block>& out) {
  if (range.extent() <= 0) return;
  if (at == axes.size()) {
    out.push_back(std::move(box));
    return;
  }
  const std::vector<int> rest(axes.begin() + static_cast<std::ptrdiff_t>(at) + 1, axes.end());
  const std::int64_t inner = positions_of(box, rest), base = along(box, axes[at]).begin;
  const auto rows = [&](std::int64_t first, std::int64_t last, Range of_row) {
    if (first >= last) return;
    Block part = box;
    along(part, axes[at]) = {base + first, base + last};
    if (of_row.extent() == inner)
      out.push_back(std::move(part));
    else
      add_boxes(axes, at + 1, of_row, std::move(part), out);
  };
  const std::int64_t first = range.begin / inner, last = range.end / inner;
  const std::int64_t head = range.begin % inner, tail = range.end % inner;
  if (first == last) return rows(first, first + 1, {head, tail});
  if (head > 0) rows(first, first + 1, {head, inner});
  rows(first + (head > 0 ? 1 : 0), last, {0, inner});
  if (tail > 0) rows(last, last + 1, {0, tail});
}

std::vector<Group> product_groups(const OpCall& call, const Step& step) {
  const ProductAxes axes = call.def.product->axes(call);
  const std::vector<std::int64_t>& grid = step.grid;
  return {{axes.batch, grid[0], 1},
          {axes.rows, grid[1], 1},
          {axes.columns, grid[2], step.times},
          {axes.contracted, grid[3], 1}};
}

std::vector<Group> share_groups(const Space& space, std::int64_t parallel_parts, std::int64_t reduce_parts) {
  Group parallel{{}, parallel_parts, 1}, reduce{{}, reduce_parts, 1};
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind == AxisKind::parallel) parallel.axes.push_back(static_cast<int>(a));
    if (space.axes[a].kind == AxisKind::reduce) reduce.axes.push_back(static_cast<int>(a));
  }
  return {parallel, reduce};
}

std::vector<Group> groups_of(const OpCall& call, const Space& space, const Step& step) {
  const std::vector<std::int64_t>& grid = step.grid;
  SUPERSTEP_CHECK(grid.size() == (call.def.product ? 4U : 2U),
                  "a grid of the wrong rank for " + std::string(call.def.name));
  if (!call.def.product) return share_groups(space, grid[0], grid[1]);
  if (!call.def.product->convolution) return product_groups(call, step);
  return share_groups(space, grid[0] * grid[1] * grid[2], grid[3]);
}

// Every block so far cut along one more group.
std::vector<TileBlock> cut_along(const std::vector<TileBlock>& blocks, const Group& group) {
  std::vector<TileBlock> cut;
  for (const TileBlock& from : blocks) {
    const std::int64_t n = positions_of(from.block, group.axes);
    for (std::int64_t run = 0; run < group.runs; ++run) {
      const Range of_run = share_of({0, n}, run, group.runs);
      for (std::int64_t part = 0; part < group.parts; ++part) {
        for (Block& box : boxes_of(from.block, group.axes, share_of(of_run, part, group.parts))) {
          cut.push_back({from.tile * group.parts + part, std::move(box)});
        }
      }
    }
  }
  return cut;
}

}  // namespace

std::vector<Block> boxes_of(const Block& block, const std::vector<int>& moves, Range positions) {
  std::vector<Block> boxes;
  add_boxes(moves, 0, positions, block, boxes);
  return boxes;
}

std::vector<TileBlock> tile_blocks(const OpCall& call, const Space& space, const Block& mine, const Step& step) {
  std::vector<TileBlock> blocks = one_block(mine);
  for (const Group& group : groups_of(call, space, step)) blocks = cut_along(blocks, group);
  return blocks;
}

std::vector<TileBlock> one_block(const Block& mine) { return {{0, mine}}; }

}  // namespace superstep
