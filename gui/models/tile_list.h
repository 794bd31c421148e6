// SPDX-License-Identifier: Apache-2.0
// Several tiles of an IPU: how they are written, and their memory side by side.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/liveness.h"

namespace superstep::gui {

inline constexpr std::size_t kMostTilesListed = 64;

// "0-15, 40": in order, each once. Empty: not a list of tiles below `tiles`, or of more than kMostTilesListed.
std::vector<std::int64_t> tiles_of_list(const QString& text, std::int64_t tiles);
QString list_of_tiles(const std::vector<std::int64_t>& tiles);  // "0–15, 40"

using TileLiveness = std::vector<std::shared_ptr<const Liveness>>;  // of one IPU, one per tile
// A row per kind of bytes and what is to spare, a column per tile; at a point, for -1 each at its own peak.
TableContents tiles_side_by_side(const ReportPointer& report, TileLiveness tiles, int point, Units units);

}  // namespace superstep::gui
