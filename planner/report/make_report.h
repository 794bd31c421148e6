// SPDX-License-Identifier: Apache-2.0
// From model and planner structs to the Report: the only bridge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/uncertainty.h"
#include "planner/search/search.h"
#include "traces/report_io.h"

namespace superstep {

// A plan lowered and timed in full: what every report and every table speaks about.
struct Evaluated {
  Plan plan;
  std::string label;  // of the plan, or what tells it from others that it is listed with
  Program program;
  Timeline timeline;
  double step_seconds = 0;
  double samples_per_second = 0;
  double score = 0;                 // by the job's goal
  double rated_power = 0;           // W, of the IPUs it takes
  double time_to_train = 0;         // seconds, of the job's train_for; 0: it does not say
  double flop_utilisation = 0;      // model FLOPs over the FP16.16 peak of all IPUs
  std::int64_t tile_peak = 0;       // fullest tile
  std::int64_t ddr_per_ipu = 0;     // of the IPU that holds most
  std::string fits;                 // fits, tight, does_not_fit
  std::vector<Overflow> overflows;  // worst first; empty: it fits
  std::vector<std::string> not_validated;
  std::vector<double> worlds;  // step seconds in each; filled by draw_worlds()
};
// For what is shown: times the program kWorlds times.
void draw_worlds(Tables& tables, Evaluated& e);
Evaluated evaluate_in_full(Tables& tables, const Plan& plan);
// The plan that the job pins, with defaults for what it does not pin, also when it does not fit. Throws Error when it
// is not legal.
Evaluated evaluate_pinned(Tables& tables, int threads);

struct WaterfallRow {
  std::string name, kind, explanation;
  double seconds = 0;
};
// From the ideal to the step time; sums to it exactly.
std::vector<WaterfallRow> waterfall(const Evaluated& e, Tables& tables);

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
