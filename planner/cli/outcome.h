// SPDX-License-Identifier: Apache-2.0
// A job searched or estimated, with its best plans lowered and timed in full.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "planner/cli/options.h"
#include "planner/make_report.h"

namespace superstep {

struct Outcome {
  Job job;
  std::unique_ptr<CostModel> model;
  std::unique_ptr<Tables> tables;
  SearchResult search;
  std::vector<Evaluated> best;  // lowered, in the order of their full times
  std::vector<Evaluated> pareto;
  std::optional<Evaluated> closest;  // when nothing fits
  std::vector<std::string> notes;
  bool estimated = false;

  const Evaluated* shown() const { return !best.empty() ? &best[0] : closest ? &*closest : nullptr; }
  ReportParts parts() const;
};

struct OutcomeOptions {
  std::int64_t top = 5;
  double time_limit = 50;  // seconds; 0: none
  bool pareto = true;
  bool find_fix = true;
  bool estimate = false;
};

Outcome solve(const std::string& job_path, const OutcomeOptions& options, const CommonOptions& common);

// The keys of the JSON result: best, runners_up, pareto, search, space, infeasible, notes.
nlohmann::json to_json(const Outcome& outcome);

}  // namespace superstep
