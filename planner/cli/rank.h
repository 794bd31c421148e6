// SPDX-License-Identifier: Apache-2.0
// `plan FREE.json --rank PINNED.json`: where the plan of one job stands among all plans of another.
#pragma once

#include <nlohmann/json.hpp>

#include "planner/cli/outcome.h"
#include "planner/search/rank.h"

namespace superstep {

struct Ranked {
  std::string job;  // file of the pinned job
  std::string label, fits;
  double best = 0;  // samples per second of the free job's best plan; 0: none fits
  Rank rank;
};

// Throws Error when the two jobs do not ask the same question.
void check_same_question(const Job& free, const Job& pinned);
// Among the plans of all parts of `job`, whose outcome is `free`.
Ranked rank_pinned(const Job& job, const Outcome& free, const std::string& pinned_path, const OutcomeOptions& options,
                   const CommonOptions& common, WarmTables& warm);

// "rank of published (t=8 ...): number 12; of 3,456 settings, 11 are faster ...", for the notes of a report.
std::string sentence(const Ranked& ranked);
nlohmann::json to_json(const Ranked& ranked);

}  // namespace superstep
