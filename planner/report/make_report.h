// SPDX-License-Identifier: Apache-2.0
// From model and planner structs to the Report: the only bridge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "planner/search/search.h"
#include "traces/report_io.h"

namespace superstep {

// The whole report. `shown` is what it is about (absent when no plan is even structurally possible).
struct ReportParts {
  const Evaluated* shown = nullptr;
  const SearchResult* search = nullptr;  // absent for estimate
  std::vector<const Evaluated*> runners_up;
  std::vector<const Evaluated*> pareto;
  std::vector<std::string> notes;
  std::string job_json;  // as it was asked; empty: the tables'
};
report::Index make_index(Tables& tables, const ReportParts& parts);
void write_report(Tables& tables, const ReportParts& parts, const std::string& path);

}  // namespace superstep
