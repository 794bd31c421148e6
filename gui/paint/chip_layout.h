// SPDX-License-Identifier: Apache-2.0
// The tiles of an IPU as a grid, in the order of their numbers. Pixels.
#pragma once

#include <QRectF>
#include <cstdint>

namespace superstep::gui {

struct ChipLayout {
  QRectF grid;
  std::int64_t tiles = 0;
  int columns = 32;
  double cell_size = 1;

  // Square cells of whole pixels; more than 32 in a row where the rows would not fit.
  static ChipLayout of(const QRectF& area, std::int64_t tiles);
  std::int64_t rows() const { return (tiles + columns - 1) / columns; }
  QRectF cell(std::int64_t tile) const;
  std::int64_t tile_at(const QPointF& at) const;  // -1: none
};

}  // namespace superstep::gui
