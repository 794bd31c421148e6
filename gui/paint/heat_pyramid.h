// SPDX-License-Identifier: Apache-2.0
// The largest values of 2, 4, 8 ... columns of a heat map taken together, tile by tile, so that 100,000 phases are
// painted from some thousand runs.
#pragma once

#include <span>
#include <vector>

#include "gui/models/heat_data.h"

namespace superstep::gui {

struct HeatPyramid {
  struct Run {
    std::int64_t value = 0;             // the largest of its tiles
    std::int32_t first = 0, count = 0;  // tiles
  };
  struct Level {
    std::vector<Run> runs;           // of the first level none: they stand in the data
    std::vector<std::size_t> begin;  // of each group of columns, and the end
    std::vector<std::int64_t> largest;

    int groups() const { return static_cast<int>(largest.size()); }
    std::span<const Run> group(int g) const {
      const auto at = static_cast<std::size_t>(g);
      return {runs.data() + begin[at], begin[at + 1] - begin[at]};
    }
  };
  static constexpr std::int64_t kMostTiles = 0x7FFFFFFF;  // of the data
  std::vector<Level> levels;                              // the first of single columns, each next of twice as many

  // The level whose groups are at most so many columns; the first without a pyramid's need.
  int level_for(double columns) const;
  std::int64_t largest() const {
    return levels.empty() || levels.back().largest.empty() ? 0 : levels.back().largest[0];
  }

  static HeatPyramid of(const HeatData& data, std::span<const int> phases, HeatQuantity quantity);
};

}  // namespace superstep::gui
