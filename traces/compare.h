// SPDX-License-Identifier: Apache-2.0
// Two or more reports side by side. The first is the source; differences are target minus source.
// Waterfall terms are matched by name, memory by IPU class and category. Plain data: the command
// line prints it, the viewer draws it.
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

// Below this probability which of two plans is the faster is not known: a tie.
constexpr double kSure = 0.9;
// Of times in the same worlds, two equally long lists: the share of worlds in which the first is the shorter; equal
// ones count half.
double probability_faster(std::span<const double> seconds, std::span<const double> than);

enum class Better { neither, smaller, larger };

struct KeyFigure {
  std::string name;
  std::string unit;
  Better better = Better::neither;
  std::vector<std::optional<double>> values;  // one per report; none: the report has no plan
  std::vector<std::string> texts;             // without the unit
  std::vector<std::string> differences;       // one per target, "+3.2 %"
};

struct ComparedTerm {
  std::string name;
  std::string kind;
  std::vector<std::optional<double>> seconds;  // one per report; none: no term of that name
};

struct ComparedMemory {
  std::string ipu_class;
  std::string category;  // empty: the total at the peak
  bool always_live = false;
  std::vector<std::optional<std::int64_t>> bytes_per_tile;  // one per report
};

// Whether the plan of a report fits its tiles, and by how much. Without a plan the bytes are absent.
struct ComparedFit {
  Fit fit = Fit::unknown;
  std::optional<std::int64_t> tile_peak_bytes, tile_limit_bytes, margin_bytes;  // fullest tile; margin below 0: over
};

struct Comparison {
  // What tells the reports apart: the parts of the plan labels that differ, else the names.
  std::vector<std::string> labels;
  std::string headline;
  std::vector<KeyFigure> key_figures;
  std::vector<ComparedTerm> waterfall;
  std::vector<double> step_time_s;  // one per report; 0 without a plan
  // One per report: the share of worlds in which it is faster than the first. None: one has no plan, or no worlds.
  std::vector<std::optional<double>> probability_faster;
  std::vector<ComparedFit> fits;  // one per report
  std::vector<ComparedMemory> memory;
};

// `names` (usually file names) are used where labels do not differ; as many as reports, two or more.
Comparison compare(std::span<const report::Index* const> reports, std::span<const std::string> names);

std::string to_text(const Comparison& comparison, const TextStyle& style);

}  // namespace superstep
