// SPDX-License-Identifier: Apache-2.0
// `plan FREE.json --rank PINNED.json`: the rank of one job's plan among all plans of another job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/cli/outcome.h"
#include "planner/search/rank.h"

namespace superstep {

struct Ranked {
  std::string job;  // file of the pinned job
  std::string label, fits;
  double best = 0;  // samples per second of the free job's best plan; 0: no plan fits
  Rank rank;
};

// Throws Error if the two jobs differ in model, machine, optimiser, batch, task or number formats.
void check_same_question(const Job& free, const Job& pinned);
// Ranks the pinned plan among the plans of all parts of `job`, whose outcome is `free`.
Ranked rank_pinned(const Job& job, const Outcome& free, const std::string& pinned_path, const OutcomeOptions& options,
                   const CommonOptions& common, WarmTables& warm);

// Returns a note for the report: "rank of published (t=8 ...): number 12; of 3,456 kinds of plan, 11 have one faster
// ...".
std::string sentence(const Ranked& ranked);
nlohmann::json to_json(const Ranked& ranked);

}  // namespace superstep
