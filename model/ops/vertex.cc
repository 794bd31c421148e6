// SPDX-License-Identifier: Apache-2.0
#include "model/ops/vertex.h"

#include <algorithm>

namespace superstep::ops {

std::int64_t lanes(DType type) { return std::clamp<std::int64_t>(8 / size_of(type), 1, 4); }

Cycles flat_loop(const TileCosts& costs, std::int64_t elements, DType type, const LoopCost& cost) {
  const std::int64_t mine = ceil_div(std::max<std::int64_t>(elements, 1), costs.workers);
  return costs.launch + Cycles(costs.workers * (cost.setup + ceil_div(mine, lanes(type)) * cost.per_vector(type)));
}

Cycles row_loop(const TileCosts& costs, std::int64_t rows, std::int64_t columns, std::int64_t per_row, DType type,
                const LoopCost& cost) {
  rows = std::max<std::int64_t>(rows, 1);
  const std::int64_t vectors = rows * ceil_div(std::max<std::int64_t>(columns, 1), lanes(type));
  const std::int64_t starts = ceil_div(rows, costs.workers);
  return costs.launch + Cycles(costs.workers * (cost.setup + starts * per_row +
                                                ceil_div(vectors, costs.workers) * cost.per_vector(type)));
}

bool turns_in_grains(std::int64_t rows, std::int64_t columns, DType type) {
  return rows % lanes(type) == 0 && columns % lanes(type) == 0;
}

Cycles copy_loop(const TileCosts& costs, std::int64_t rows, std::int64_t columns, DType type) {
  constexpr LoopCost kCopy{20, 1, 1};  // estimated from the 8 B/cycle of the on-tile copy
  constexpr std::int64_t kPerRow = 7;  // as the broadcast loops
  return row_loop(costs, rows, columns, kPerRow, type, kCopy);
}

Rows rows_of(std::span<const std::int64_t> extents) {
  Rows result;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) result.rows *= extents[i];
  if (!extents.empty()) result.columns = extents.back();
  return result;
}

}  // namespace superstep::ops
