// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/chip_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {

ChipLayout ChipLayout::of(const QRectF& area, std::int64_t tiles) {
  constexpr double kLeastCell = 3;
  ChipLayout out;
  out.tiles = std::max<std::int64_t>(0, tiles);
  const auto size = [&] {
    return std::floor(std::min(area.width() / out.columns,
                               area.height() / static_cast<double>(std::max<std::int64_t>(1, out.rows()))));
  };
  while (size() < kLeastCell && area.width() / (out.columns * 2) >= kLeastCell) out.columns *= 2;
  out.cell_size = std::max(1.0, size());
  out.grid = QRectF(area.topLeft(), QSizeF(out.columns, static_cast<double>(out.rows())) * out.cell_size);
  return out;
}

QRectF ChipLayout::cell(std::int64_t tile) const {
  return {grid.left() + static_cast<double>(tile % columns) * cell_size,
          grid.top() + static_cast<double>(tile / columns) * cell_size, cell_size, cell_size};
}

std::int64_t ChipLayout::tile_at(const QPointF& at) const {
  const auto column = static_cast<std::int64_t>(std::floor((at.x() - grid.left()) / cell_size));
  const auto row = static_cast<std::int64_t>(std::floor((at.y() - grid.top()) / cell_size));
  if (column < 0 || column >= columns || row < 0) return -1;
  const std::int64_t tile = row * columns + column;
  return tile < tiles ? tile : -1;
}

}  // namespace superstep::gui
