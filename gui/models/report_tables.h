// SPDX-License-Identifier: Apache-2.0
// The tables of a report: one function each, from the report to a TableModel's contents. They keep
// what they show alive. Seconds, bytes and cycles are exact in kExactRole.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/format.h"
#include "gui/models/heat_data.h"
#include "gui/models/table_model.h"
#include "gui/models/timeline.h"
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

// One row per phase and run of equal tiles. `phases` empty: all.
TableContents tiles_table(const ReportPointer& report, std::shared_ptr<const HeatData> heat, std::vector<int> phases);

// The runs of one phase: tiles, live memory, compute cycles, exchange bytes.
TableContents phase_table(std::shared_ptr<const HeatData> heat, int phase, Units units);

struct Variables {
  TextColumn name, category;
  std::vector<std::int64_t> ipu_class, bytes_per_tile;
  std::vector<std::int64_t> first_phase, last_phase;  // rows of heat.phase; empty: the report does not say
  bool have_lifetimes() const { return !first_phase.empty(); }
};
Variables load_variables(const ReportFile& report);  // throws Error when the columns disagree
// Those of one IPU class, or of all for -1.
TableContents variables_table(const ReportPointer& report, std::shared_ptr<const Variables> variables, int ipu_class,
                              Units units);

// What `known` has of the same report is shared with it, not read again; null: nothing is known.
Steps load_steps(const ReportFile& report, const StepTrace* known = nullptr);
QString tiles_text(std::int64_t tiles);  // of step.tiles: "1 280", "all"
TableContents steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps);

}  // namespace superstep::gui
