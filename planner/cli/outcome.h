// SPDX-License-Identifier: Apache-2.0
// A job searched or estimated, with its best plans lowered and timed in full.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "planner/cli/options.h"
#include "planner/cost/warm_tables.h"
#include "planner/report/evaluated.h"
#include "planner/report/make_report.h"
#include "planner/space/space_fields.h"

namespace superstep {

struct Outcome {
  std::shared_ptr<const CostModel> model;
  std::unique_ptr<Tables> tables;
  SearchResult search;
  std::vector<Evaluated> best;  // lowered, in the order of their full times
  std::vector<Evaluated> pareto;
  std::optional<Evaluated> closest;  // when nothing fits
  std::vector<std::string> notes;
  bool estimated = false;

  const Job& job() const { return tables->job(); }  // on the partition of the best plan
  Job asked;                                        // as it was given
  std::vector<SpaceField> space;                    // of all partitions
  const Evaluated* shown() const { return !best.empty() ? &best[0] : closest ? &*closest : nullptr; }
  ReportParts parts() const;
};

struct OutcomeOptions {
  std::int64_t top = 5;
  double time_limit = 50;  // seconds; 0: none
  bool pareto = true;
  bool find_fix = true;
  bool estimate = false;
  bool record = false;                                                  // see SearchOptions
  std::function<void(double share, const std::string& what)> progress;  // instead of the command line's
  std::function<bool()> stop;                                           // see SearchOptions
};

// For later runs. A cache that cannot be written costs time, not the result: says so.
void save(const WarmTables& warm);

Outcome solve(const std::string& job_path, const OutcomeOptions& options, const CommonOptions& common);
Outcome solve(Job job, const OutcomeOptions& options, const CommonOptions& common, WarmTables& warm);
// Throws Error when what was estimated is no plan at all.
void check_estimated(const Outcome& outcome);

// The keys of the JSON result: best, runners_up, pareto, search, space, infeasible, notes.
nlohmann::json to_json(const Outcome& outcome);
nlohmann::json to_json(const Overflow& overflow);

}  // namespace superstep
