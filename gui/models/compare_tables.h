// SPDX-License-Identifier: Apache-2.0
// Reports side by side as tables: what `superstep compare` says, row by row. The first report is the source, the
// others are targets; differences are target minus source.
#pragma once

#include <QStringList>
#include <memory>
#include <span>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"
#include "traces/compare_detail.h"

namespace superstep::gui {

struct ComparedReports {
  std::vector<ReportPointer> reports;
  Comparison comparison;               // without labels: fewer than two reports
  std::vector<ComparedCycles> phases;  // cycles in a step, layers and phases by name
  std::vector<double> clock_hz;

  // Of a row of phases, target less source, in ms of a step. None: one of the two does not have it.
  std::optional<double> phaseDifference(int phase, int target) const;
  bool empty() const { return comparison.labels.empty(); }
  int size() const { return static_cast<int>(comparison.labels.size()); }
  QString label(int report) const;
  QString side(int report) const;  // "Source", "Target", "Target 2"
  // "95 % band +231 to +553 ms": of the step time alone, the worlds say nothing of single terms. Empty: not known.
  QString bandText(int target) const;
};
using ComparedPointer = std::shared_ptr<const ComparedReports>;

// "95 % band 15.1 to 19.6 % slower.", "95 % band 1.2 % slower to 3.0 % faster."
QString speed_band_text(const Band& band);
// Whether the first target is as much faster or slower as it seems.
struct Sureness {
  QString text;  // "P(faster) = 0.97"; empty: not known
  bool tie = false;
};
Sureness sureness(const ComparedReports& compared);
Sureness sureness(double change, std::optional<double> probability_faster);

// The phases as a grid: "layer3/attention forward" stands in the column L3 and the row "attention forward".
struct PhaseGrid {
  QStringList rows, columns;             // in order of appearance, layers by number
  std::vector<std::vector<int>> phases;  // of each row and column its place among the phases; -1: none
};
PhaseGrid phase_grid(std::span<const std::string> names);
PhaseGrid phase_grid(const ComparedReports& compared);

// As many `heat` as reports.
ComparedPointer compare_reports(std::vector<ReportPointer> reports,
                                const std::vector<std::shared_ptr<const HeatData>>& heat);

// Where the columns of terms_comparison() stand.
struct TermColumns {
  int reports = 0;
  int ms(int report) const { return 1 + report; }
  int difference(int target) const { return 1 + reports + 2 * (target - 1); }  // ms
  int percent(int target) const { return difference(target) + 1; }             // of the source's term
  int seconds(int report) const { return 3 * reports - 1 + report; }
};
// The waterfalls: a row per term, the last is the step time; kSourceRole is the term's place in the comparison.
TableContents terms_comparison(const ComparedPointer& compared, bool hide_equal);
TableContents figures_comparison(const ComparedPointer& compared);
TableContents fits_comparison(const ComparedPointer& compared, Units units);
TableContents memory_comparison(const ComparedPointer& compared, Units units, bool hide_equal);
// Milliseconds of a step by layer and phase; what not all reports have stands below.
TableContents phases_comparison(const ComparedPointer& compared, bool hide_equal);

}  // namespace superstep::gui
