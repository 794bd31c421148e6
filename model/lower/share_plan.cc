// SPDX-License-Identifier: Apache-2.0
// Ops that are no matrix products: an even share on each tile.
#include <algorithm>

#include "model/lower/tile_plan.h"
#include "model/ops/amp_vertex.h"

namespace superstep {

SharePlan share_plan(const OpCall& call, std::span<const std::int64_t> local_extents, std::int64_t tiles,
                     const Chip& chip) {
  const Space space = call.def.space(call);
  std::int64_t parallel = 1, reduce = 1;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind == AxisKind::parallel) parallel *= local_extents[a];
    if (space.axes[a].kind == AxisKind::reduce) reduce *= local_extents[a];
  }
  // Innermost axes fill first, as a flattened contiguous share does.
  auto share_extents = [&](std::int64_t parallel_share, std::int64_t reduce_share) {
    std::vector<std::int64_t> extents(local_extents.begin(), local_extents.end());
    for (std::size_t n = extents.size(); n-- > 0;) {
      if (space.axes[n].kind == AxisKind::whole) continue;
      std::int64_t& left = space.axes[n].kind == AxisKind::parallel ? parallel_share : reduce_share;
      extents[n] = std::min(extents[n], left);
      left = ceil_div(left, extents[n]);
    }
    return extents;
  };
  const TileCosts costs{chip.workers, chip.vertex_launch, chip.amp};
  const std::int64_t result_size = call.out.empty() ? 2 : size_of(call.out[0].type);
  SharePlan best;
  Cycles least(INT64_MAX);
  for (std::int64_t q = 1; q <= std::min(reduce, tiles); q *= 2) {
    SharePlan p;
    p.reduce_parts = q;
    p.parallel_parts = std::min(parallel, std::max<std::int64_t>(1, tiles / q));
    const std::int64_t mine = ceil_div(parallel, p.parallel_parts);
    const auto extents = share_extents(mine, ceil_div(reduce, q));
    p.vector = call.def.cycles(costs, call, extents);
    Cycles total = p.vector;
    if (q > 1) {
      const std::int64_t joined = ceil_div(parallel, std::min(tiles, parallel));
      const std::int64_t size = std::max<std::int64_t>(4, result_size);
      p.partial_bytes = Bytes(joined * (q - 1) * size);
      p.join_memory = Bytes(joined * q * size);
      p.join = add_partials(q, joined, chip.workers);
      total += transfer_time(p.partial_bytes, chip.exchange.receive) + chip.exchange.piece * (q - 1) + p.join +
               2 * chip.exchange.superstep;
    }
    if (total < least) {
      least = total;
      best = p;
    }
  }
  return best;
}

}  // namespace superstep
