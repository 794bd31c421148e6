// SPDX-License-Identifier: Apache-2.0
// The trace in numbers: what each IPU does with the step, how even its tiles are, and the steps in a window.
#pragma once

#include "gui/models/heat_data.h"
#include "gui/models/pipeline_tables.h"

namespace superstep::gui {

// Parts of cycle proportions: what the bars and the table show.
struct Proportion {
  const char* name;  // "internal exchange"
  Work work;         // whose colour it has
  std::int64_t of(const WorkCycles& sums) const;
};
const std::vector<Proportion>& proportions();

// How the tiles of an IPU share the compute of its calls, over a step.
struct TileUse {
  double balance = 0;              // mean of all tiles over the slowest, 0 to 1
  double parallel_efficiency = 0;  // tile cycles that compute over all of the step's
  double active_tiles = 0;         // that compute, mean of the phases by their time
};
TileUse tile_use(const HeatData& heat, int ipu_class, std::int64_t step_cycles);

// Supersteps of an IPU in a step, and bytes that its loads and stores, copies and collectives outside of calls move.
struct LaneCounts {
  std::int64_t supersteps = 0, stream_bytes = 0, link_bytes = 0;
};
LaneCounts lane_counts(const Lane& lane);

// Rows: the proportions in cycles, %, then tile balance, parallel efficiency, supersteps, bytes; a column per IPU.
TableContents proportions_table(const TimelinePointer& trace, const std::shared_ptr<const HeatData>& heat);

// The name of a slice's step. Equal layers share their steps, which are named after one of them: here after the one
// that calls.
QString step_name(const Timeline& trace, const Lane& lane, const Slice& slice);

// The steps that a lane does in [from, to), joined where they are shorter than one `most`th of it.
TableContents trace_table(const TimelinePointer& trace, int lane, std::int64_t from, std::int64_t to, int most);

}  // namespace superstep::gui
