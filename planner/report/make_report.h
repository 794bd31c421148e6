// SPDX-License-Identifier: Apache-2.0
// Conversion of model and planner structs to a Report. No other code makes Reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "planner/search/search.h"
#include "traces/report_io.h"

namespace superstep {

// Inputs of a report.
struct ReportParts {
  const Evaluated* shown = nullptr;      // the plan of the report; null: not even one plan is structurally possible
  const SearchResult* search = nullptr;  // null: an estimate, without a search
  std::vector<const Evaluated*> runners_up;
  std::vector<const Evaluated*> pareto;
  std::vector<std::string> notes;
  std::string bet;       // what could be won by a plan that is less sure; empty: nothing
  std::string job_json;  // the job as the user gave it; empty: the job of the tables
};
// Returns the report's index without columns, efficiency rows and error bands.
report::Index make_index(Tables& tables, const ReportParts& parts);
// Writes the whole report to a file.
void write_report(Tables& tables, const ReportParts& parts, const std::string& path);

}  // namespace superstep
