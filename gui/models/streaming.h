// SPDX-License-Identifier: Apache-2.0
// Phased execution over the step: how long each phase computes, loads and stores; the numbers of `superstep explain`.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/report_tables.h"
#include "traces/phases_text.h"

namespace superstep::gui {

using PhaseRows = std::shared_ptr<const std::vector<PhaseRow>>;

PhaseRows phases_of_report(const ReportPointer& report);  // empty where the plan has one phase
// Phase, what it runs, ms of the whole, computing, loading, storing, what bounds it; then the cycles.
TableContents streaming_table(const ReportPointer& report, const PhaseRows& rows);

}  // namespace superstep::gui
