// SPDX-License-Identifier: Apache-2.0
// The heat map without a window: which part of tiles x phases is seen, which pixel shows which cell,
// and the largest value under every pixel. Rows are tiles, columns are phases, all alike or as wide as
// they take time.
#pragma once

#include <QRect>
#include <QRectF>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/paint/heat_pyramid.h"

namespace superstep::gui {

// Where columns begin when they are not all alike: as many widths of an average column are left of each, and of the
// end.
using ColumnEdges = std::shared_ptr<const std::vector<double>>;
ColumnEdges edges_by_cycles(const HeatData& data, std::span<const int> phases);

// The part seen, in columns of average width and tiles; a cell is one by one. All zero: everything.
struct HeatWindow {
  double phase_from = 0, phase_to = 0;
  double tile_from = 0, tile_to = 0;

  static HeatWindow whole(int phases, std::int64_t tiles);
  // `factor` below 1 zooms in; the point stays where it is. At least two phases and eight tiles, at
  // most everything.
  HeatWindow zoomed(double factor, double phase, double tile, int phases, std::int64_t tiles) const;
  HeatWindow moved(double by_phases, double by_tiles, int phases, std::int64_t tiles) const;
  HeatWindow resolved(int phases, std::int64_t tiles) const;  // with everything spelled out
  friend bool operator==(const HeatWindow&, const HeatWindow&) = default;
};

struct HeatLayout {
  QRect totals;  // strip above: largest value of every phase
  QRect heads;   // names of phase groups
  QRect map;
  QRect maxima;  // strip at the right: largest value of every tile row
  QRect ticks;   // names below
  HeatWindow window;
  ColumnEdges edges = nullptr;  // null: all are alike

  static HeatLayout of(QRect area, const HeatWindow& window, ColumnEdges edges = nullptr);

  double x_of(double phase) const;
  double y_of(double tile) const;
  double phase_at(double x) const;
  double across_at(double x) const;  // the same in columns of average width, as windows are
  int first_column() const;          // that is seen
  double tile_at(double y) const;
  QRectF cell(int phase, double tile, double tiles) const;
  bool tiles_share_pixels() const { return window.tile_to - window.tile_from > map.height(); }
  bool phases_share_pixels() const { return window.phase_to - window.phase_from > map.width(); }
};

// Shares of the colour map. Up to `knee` a value uses the first `knee_share` of the colours.
struct HeatScale {
  double full = 1;
  double knee = 0.5;
  double knee_share = 0.5;
  double limit = -1;  // above it a value has its own colour; negative: no limit

  // Memory: fixed by the hardware, knee at half of it, 22 % of the colours below.
  static HeatScale of_memory(std::int64_t limit_bytes);
  static HeatScale linear(std::int64_t largest);
  // All colours from the least to the most; above a limit that is not negative a value has its own colour.
  static HeatScale of_data(std::int64_t least, std::int64_t most, std::int64_t limit);
  double share(double value) const;  // 0 to 1
  bool over(double value) const { return limit >= 0 && value > limit; }
};

constexpr std::int64_t kNoValue = -1;

// The largest value of the cells under every pixel, column by column; kNoValue where no cell has one.
// `phases` are the columns, indexes into data.phases.
struct HeatImage {
  int width = 0, height = 0;
  std::vector<std::int64_t> pixels;
  std::vector<std::int64_t> row_largest;  // per pixel row, of the columns seen
  std::int64_t at(int x, int y) const {
    return pixels[static_cast<std::size_t>(x) * static_cast<std::size_t>(height) + static_cast<std::size_t>(y)];
  }
};
// With a pyramid of those phases and that quantity the same, from its groups that are no wider than a pixel; a group at
// the edge of a pixel is in one of the two.
HeatImage rasterized(const HeatData& data, std::span<const int> phases, HeatQuantity quantity, const HeatLayout& layout,
                     const HeatPyramid* pyramid = nullptr);

// Runs of phases with the same text, for heads and ticks: [from, to) in columns.
struct PhaseSpan {
  std::string text;
  int from = 0, to = 0;
};
std::vector<PhaseSpan> group_spans(const HeatData& data, std::span<const int> phases);
std::vector<PhaseSpan> name_spans(const HeatData& data, std::span<const int> phases);  // names up to "/", layers short

}  // namespace superstep::gui
