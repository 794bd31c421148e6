// SPDX-License-Identifier: Apache-2.0
// Program steps of a report, and their table.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

// What `known` has of the same report is shared with it, not read again; null: nothing is known.
Steps load_steps(const ReportFile& report, const StepTrace* known = nullptr);
// The steps of a function that the columns really have, as rows [first, end).
std::pair<std::int64_t, std::int64_t> steps_of(const report::Function& function, const Steps& steps);
QString tiles_text(std::int64_t tiles);  // of step.tiles: "1 280", "all"
TableContents steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps);

}  // namespace superstep::gui
