// SPDX-License-Identifier: Apache-2.0
// How much of their bandwidth the phases of the graph use, on the IPU that moves most.
#pragma once

#include <vector>

#include "gui/models/graph_data.h"
#include "gui/models/heat_data.h"
#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

struct PhaseRates {
  std::int64_t stream_bytes = -1;    // to and from Streaming Memory, of one IPU, in the whole phase; -1: not known
  std::int64_t exchange_bytes = -1;  // between the tiles of one IPU
};

// One for each of the phases; the report says what streams, its supersteps what is exchanged.
std::vector<PhaseRates> phase_rates(const ReportFile& report, const Phases& phases, const Steps& steps,
                                    const HeatData& heat);

}  // namespace superstep::gui
