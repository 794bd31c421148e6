// SPDX-License-Identifier: Apache-2.0
// What the summary says in large numbers, bars of limits, legends and notes.
#pragma once

#include <string>
#include <vector>

#include "gui/base/format.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/verdict_banner.h"
#include "traces/report.pb.h"

namespace superstep::gui {

std::vector<KeyNumber> key_numbers(const report::Index& index, Units units);
// The largest use of each further limit over the IPU classes.
std::vector<KeyNumber> other_limits(const report::Index& index);
std::vector<LegendEntry> kinds_of(const report::Index& index);       // of the waterfall
std::vector<LegendEntry> memory_legend(const report::Index& index);  // categories the report has, in stack order
// The plan with the change made, as JSON for the what-if. Empty: the field is not one of the plan's own.
std::string changed_plan(const report::PlanSummary& plan, const report::PlanChange& change);
// Several at once: of report.helpful_changes.
std::string changed_plan(const report::Index& index, const std::vector<int>& changes);
QString notes_text(const report::Index& index);  // HTML

}  // namespace superstep::gui
