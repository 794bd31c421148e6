// SPDX-License-Identifier: Apache-2.0
// Heat maps as tables.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/report_tables.h"

namespace superstep::gui {

// One row per phase and run of equal tiles. `phases` empty: all.
TableContents tiles_table(const ReportPointer& report, std::shared_ptr<const HeatData> heat, std::vector<int> phases);

// The runs of one phase: tiles, live memory, compute cycles, exchange bytes.
TableContents phase_table(std::shared_ptr<const HeatData> heat, int phase, Units units);

}  // namespace superstep::gui
