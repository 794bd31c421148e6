// SPDX-License-Identifier: Apache-2.0
// The outcome of a job: searched or estimated, with the best plans lowered and timed in full.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "planner/cli/dimensions.h"
#include "planner/cli/options.h"
#include "planner/cost/warm_tables.h"
#include "planner/report/evaluated.h"
#include "planner/report/make_report.h"
#include "planner/space/software_facts.h"
#include "planner/space/space_fields.h"

namespace superstep {

struct Outcome {
  std::shared_ptr<const CostModel> model;
  std::unique_ptr<Tables> tables;
  SearchResult search;
  std::vector<Evaluated> best;  // lowered and timed, the best score first
  std::vector<Evaluated> pareto;
  // The fastest plan by the model, if it is another one than the best: it fits with a lower probability than asked for.
  std::optional<Evaluated> fastest;
  bool is_likely = true;             // the best plan fits with the probability asked for; false: no plan does
  std::optional<Evaluated> closest;  // the plan that exceeds memory least; set if no plan fits
  std::vector<std::string> notes;
  bool estimated = false;    // the job was estimated, not searched
  SoftwareVerdict software;  // of the shown plan

  const Job& job() const { return tables->job(); }  // on the partition of the best plan
  Job asked;                                        // the job as given
  std::vector<SpaceField> space;                    // over all partitions
  // Returns the plan to show: the best, else the closest; null if there is none.
  const Evaluated* shown() const { return !best.empty() ? &best[0] : closest ? &*closest : nullptr; }
  ReportParts parts() const;
};

struct OutcomeOptions {
  std::int64_t top = 5;
  double time_limit = 0;     // seconds; 0: the search ends by its work (kBudget.whole_work)
  bool runners_up = false;   // as in SearchOptions
  bool pareto = false;       // trace the front of the job's two measures; jobs that name `pareto` ask for it too
  bool find_fastest = true;  // as in SearchOptions
  bool find_fix = true;
  bool explains = true;  // why nothing fits
  bool estimate = false;
  Dimensions dimensions;                         // of the model, which replace those of the job's file
  bool record = false;                           // as in SearchOptions
  std::function<void(const SearchStep&)> trace;  // as in SearchOptions
  std::function<void(double share, const std::string& what)> progress;  // replaces the command line's progress
  std::function<bool()> stop;                                           // as in SearchOptions
};

// Saves the cache for later runs. A cache that cannot be written gives a warning only, because results do not depend on
// it.
void save(const WarmTables& warm);

// Searches or estimates a job. Throws Error for an invalid job.
Outcome solve(const std::string& job_path, const OutcomeOptions& options, const CommonOptions& common);
Outcome solve(Job job, const OutcomeOptions& options, const CommonOptions& common, WarmTables& warm);
// Throws Error if an estimated job gave no plan at all.
void check_estimated(const Outcome& outcome);

// Returns the JSON result, with the keys best, runners_up, pareto, search, space, infeasible, notes.
nlohmann::json to_json(const Outcome& outcome);
nlohmann::json to_json(const Overflow& overflow);

}  // namespace superstep
