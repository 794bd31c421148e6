// SPDX-License-Identifier: Apache-2.0
// The tables of a report: one function each, from the report to a TableModel's contents. They keep
// what they show alive. Seconds, bytes and cycles are exact in kExactRole.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/base/format.h"
#include "gui/models/table_model.h"
#include "traces/report_io.h"

namespace superstep::gui {

using ReportPointer = std::shared_ptr<const ReportFile>;

// Term, kind, ms, %, seconds, and where the report has them ± and both ends of the 95 % band; the last row is the step
// time.
inline constexpr int kTermError = 5;  // column
TableContents waterfall_table(const ReportPointer& report);

// The categories of one IPU class or, for -1, of all: always-live ones with their sum, the others with
// theirs, and the peak. Columns: (IPU,) category, share of the limit as a bar, KiB or bytes, % of the limit, exact
// bytes.
TableContents memory_table(const ReportPointer& report, int ipu_class, Units units);

// One row per IPU class: name, contents, how many, fullest tile, limit, to spare, fit, code, its limit,
// Streaming Memory.
inline constexpr int kFitName = 0;
inline constexpr int kFitContents = 1;
inline constexpr int kFitSpare = 5;
TableContents fit_table(const ReportPointer& report, Units units);

// The plan and its runners-up: fit (as its sign), label, samples/s, against the plan, to spare, step time.
TableContents plans_table(const ReportPointer& report, Units units);

// Faster plans that differ in one field: what changes, from, to, gain of samples/s in %, step time, fit (as its sign;
// as text what does not fit).
TableContents changes_table(const ReportPointer& report);

}  // namespace superstep::gui
