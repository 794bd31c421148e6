// SPDX-License-Identifier: Apache-2.0
// Comparison of two or more reports. The first report is the source, all others are targets. Differences are target
// minus source. Waterfall terms are matched by name, memory by IPU class and category. The command line prints a
// comparison, the viewer draws it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/report.pb.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep {

// Least probability at which one of two plans is called the faster. Below, the comparison is a tie.
constexpr double kSure = 0.9;
// Returns the share of worlds in which `seconds` is less than `than`. Worlds with equal times count half. Both lists
// have the times of the same worlds.
double probability_faster(std::span<const double> seconds, std::span<const double> than);

// The direction in which values of a figure are better.
enum class Better { neither, smaller, larger };

struct KeyFigure {
  std::string name;
  std::string unit;
  Better better = Better::neither;
  std::vector<std::optional<double>> values;  // one per report; none: the report has no plan
  std::vector<std::string> texts;             // one per report, without the unit; "-": no plan
  std::vector<std::string> differences;       // one per target, "+3.2 %"
};

struct ComparedTerm {
  std::string name;
  std::string kind;
  std::vector<std::optional<double>> seconds;  // one per report; none: the report has no term of that name
};

struct ComparedMemory {
  std::string ipu_class;
  std::string category;  // empty: the total at the peak
  bool always_live = false;
  std::vector<std::optional<std::int64_t>> bytes_per_tile;  // one per report; none: the report has no such category
};

// Fit of a report's plan on its tiles.
struct ComparedFit {
  Fit fit = Fit::unknown;
  // Bytes of the fullest tile; a negative margin: bytes over the limit. None: the report has no plan.
  std::optional<std::int64_t> tile_peak_bytes, tile_limit_bytes, margin_bytes;
};

struct Comparison {
  // One label per report, all different: the parts of the plan labels that differ, else model and machine, else the
  // names.
  std::vector<std::string> labels;
  std::string headline;
  std::vector<KeyFigure> key_figures;
  std::vector<ComparedTerm> waterfall;
  std::vector<double> step_time_s;  // one per report: sum of the waterfall; 0 without a plan
  // One per report: the share of worlds in which the report's plan is faster than the first report's plan, per sample.
  // None: a plan or the common worlds are missing.
  std::vector<std::optional<double>> probability_faster;
  std::vector<ComparedFit> fits;  // one per report
  std::vector<ComparedMemory> memory;
};

// Compares two or more reports. `names`, one per report (usually file names), serve as labels where nothing else tells
// the reports apart.
Comparison compare(std::span<const report::Index* const> reports, std::span<const std::string> names);

std::string to_text(const Comparison& comparison, const TextStyle& style);

}  // namespace superstep
