// SPDX-License-Identifier: Apache-2.0
// How full the tiles are: each tile's own peak over all phases of its IPU, how many tiles lie where below the limit,
// and the fullest ones.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/report_tables.h"

namespace superstep::gui {

// Neighbouring tiles of one kind of IPU with the same peak.
struct TilePeak {
  int ipu_class = 0;
  std::int64_t first = 0, count = 0;  // tiles
  std::int64_t bytes = 0;
  int phase = -1;          // the first in which they have it
  std::int64_t alike = 1;  // IPUs of the kind
};
// Of every tile that has values, by IPU and tile.
std::vector<TilePeak> tile_peaks(const HeatData& heat, const report::Index& index);

// Tiles with more than `from` and at most `to` bytes at their peak.
struct FillBin {
  std::int64_t from = 0, to = 0;
  std::int64_t tiles = 0;  // of all IPUs
  int fullest = -1;        // among the peaks; -1: no tile
};
struct TileFill {
  std::int64_t limit = 0;
  std::vector<TilePeak> peaks;
  std::vector<FillBin> bins;  // of one width, the limit is a bound; from the emptiest tile to the limit or the fullest

  bool is_over(const FillBin& bin) const { return bin.from >= limit; }
  bool is_tight(const FillBin& bin) const;  // has tiles with less than 5 % of the limit to spare
  int bin_of(std::int64_t bytes) const;     // -1: none
};
TileFill tile_fill(const HeatData& heat, const report::Index& index);

// Bins with tiles: from, to, tiles, IPUs.
inline constexpr int kFillCount = 2;  // column
TableContents tile_fill_table(const ReportPointer& report, std::shared_ptr<const TileFill> fill, Units units);
// The five fullest runs of tiles: IPU, tiles, phase, peak, to spare.
TableContents fullest_tiles_table(const ReportPointer& report, std::shared_ptr<const TileFill> fill,
                                  std::shared_ptr<const HeatData> heat, Units units);
// "fullest: 0–1 407 of IPU 0". Empty: no tile.
QString fullest_sentence(const TileFill& fill, const report::Index& index);

}  // namespace superstep::gui
