// SPDX-License-Identifier: Apache-2.0
// What the heat map shows: for every phase, runs of equal tiles with three quantities.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/report_io.h"

namespace superstep::gui {

// In the order of the columns of tiles_table(). Idle: cycles of the phase in which the tile does not compute. Error: of
// the phase's time, in parts of a million; it ends with its slowest tile, so all of its tiles have the same.
enum class HeatQuantity { memory, compute, exchange, idle, error };
inline constexpr int kHeatQuantities = 5;
bool counts_cycles(HeatQuantity quantity);

struct TileRun {
  std::int64_t first = 0, count = 0;  // tiles
  std::int64_t memory_bytes = 0, compute_cycles = 0, exchange_bytes = 0, idle_cycles = 0;
};

struct HeatPhase {
  std::string name;
  std::string group;  // "forward", may be empty
  int ipu_class = 0;
  std::int64_t cycles = 0;
  std::int64_t repeats = 0;
  std::size_t first_run = 0, runs = 0;
  int function = -1;                 // of the report; -1: it does not say
  std::int64_t resident_bytes = -1;  // on the fullest tile, all the while; -1: the report does not say
  std::int64_t kept_bytes = 0;       // beside them, by earlier calls
  bool keeps = false;                // what its backward call reads stays
  double error = -1;                 // share of its time that 95 % of the worlds are within, either side; -1: not known
};

std::int64_t value_of(const HeatPhase& phase, const TileRun& run, HeatQuantity quantity);

struct HeatData {
  std::int64_t tiles = 0;  // of one IPU
  std::vector<HeatPhase> phases;
  std::vector<TileRun> runs;  // those of a phase together, by first tile, disjoint

  bool has_errors() const;                                       // of any phase
  const TileRun* run_at(int phase, std::int64_t tile) const;     // null: the tile has no values
  std::vector<int> phases_of(int ipu_class) const;               // in program order; -1: all
  std::int64_t largest(int phase, HeatQuantity quantity) const;  // 0 without runs
};

// Tiles that compute in a phase at all.
std::int64_t active_tiles(const HeatData& heat, int phase);

// Reads the heat.* and tile.* columns; without them a HeatData without phases. Throws Error when they
// contradict each other or name tiles and phases that do not exist.
HeatData load_heat(const ReportFile& report);

}  // namespace superstep::gui
