// SPDX-License-Identifier: Apache-2.0
// `plan JOB --why PINS`: explains why the best plan under further pins is slower than the best plan, or does not fit.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "planner/cli/outcome.h"
#include "planner/job/tell_apart.h"
#include "planner/report/evaluated.h"
#include "planner/report/time_lost.h"

namespace superstep {

// The answer to --why, tested in this order:
// * has_pins: the best plan satisfies the pins.
// * not_legal: the job does not allow the pins.
// * not_found: the time limit ended the search without a plan.
// * does_not_fit: no plan fits under the pins.
// * slower, tie, faster: the best plan under the pins, compared with the best plan.
// * only_plan: a plan fits under the pins, but no plan fits without the pins.
enum class Verdict : std::uint8_t { has_pins, not_legal, not_found, does_not_fit, slower, tie, faster, only_plan };

struct WhyNot {
  nlohmann::json pins;
  Verdict verdict = Verdict::has_pins;
  std::string reason;                // not_legal, not_found: the reason
  std::vector<std::string> missing;  // JSON pointers of pins that the best plan does not satisfy
  std::optional<Evaluated> best;     // best plan under the pins; does_not_fit: the closest plan
  SoftwareVerdict software;          // of `best`
  double best_step_time = 0;         // seconds, scaled to the winner's global batch except for latency
  double probability_winner_is_faster = 1;
  std::vector<LostTime> lost;             // set for slower, tie, faster
  std::vector<DifferentField> different;  // fields in which the plan differs from the winner
  std::vector<Overflow> overflows;        // does_not_fit: worst first
  std::string nearest_fix;                // does_not_fit: nearest fix; empty: none found
};

// Reads the argument of --why. Throws Error with a pointer into --why if the text is not valid pins.
nlohmann::json read_why(const std::string& text);

// Searches the job of `free` under further pins, and compares the best plan with the best plan of `free`.
WhyNot explain_why_not(const Outcome& free, const nlohmann::json& pins, OutcomeOptions options,
                       const CommonOptions& common, WarmTables& warm);

std::string to_text(const WhyNot& why, const Outcome& free, const TextStyle& style);
nlohmann::json to_json(const WhyNot& why, const Outcome& free);

}  // namespace superstep
