// SPDX-License-Identifier: Apache-2.0
// The tables of live memory over program steps, and of the variables that stand there.
#pragma once

#include <memory>

#include "gui/models/lifetimes.h"
#include "gui/models/liveness.h"
#include "gui/models/placement.h"
#include "gui/models/report_tables.h"

namespace superstep::gui {

// Program step, phase, superstep, kind, resident, live, total; highest address and gaps where variables are placed. A
// row per point.
TableContents liveness_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness,
                             std::shared_ptr<const Steps> steps, std::shared_ptr<const HeatData> heat, Units units,
                             std::shared_ptr<const Placement> placement = nullptr);
// What is live at one point, as far as the report tells it apart; the columns of memory_table() of one class.
TableContents liveness_point_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness, int point,
                                   Units units);

// Variable, category, bytes, whether always, first and last step, address where it is placed, and a lane with a mark
// at `mark`. Of those that stand at step `at` (-1: of all), also without those that always do.
TableContents lifetimes_table(std::shared_ptr<const Lifetimes> lifetimes, int at, bool without_always, int mark,
                              Units units, std::shared_ptr<const Placement> placement = nullptr);

}  // namespace superstep::gui
