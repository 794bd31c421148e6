// SPDX-License-Identifier: Apache-2.0
// `plan JOB --why PINS`: why the best plan under further pins lost against the best plan, or does not fit.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "planner/cli/outcome.h"
#include "planner/job/tell_apart.h"
#include "planner/report/evaluated.h"
#include "planner/report/time_lost.h"

namespace superstep {

// In this order of looking: the best plan has the pins; they are not legal in this job; the time limit came before a
// plan; nothing fits under them; else the best plan under them is slower, too near to tell, or faster.
enum class Verdict : std::uint8_t { has_pins, not_legal, not_found, does_not_fit, slower, tie, faster, only_plan };

struct WhyNot {
  nlohmann::json pins;
  Verdict verdict = Verdict::has_pins;
  std::string reason;                // not_legal, not_found: why
  std::vector<std::string> missing;  // pins that the best plan does not have, as JSON pointers
  std::optional<Evaluated> best;     // under the pins; does_not_fit: the plan that comes closest
  double best_step_time = 0;         // seconds, of as many samples as the winner's step has
  double probability_winner_is_faster = 1;
  std::vector<LostTime> lost;             // slower, tie, faster
  std::vector<DifferentField> different;  // from the winner
  std::vector<Overflow> overflows;        // does_not_fit: the worst first
  std::string nearest_fix;                // does_not_fit; empty: none found
};

// Throws Error, which points into --why, when the text is no pins.
nlohmann::json read_why(const std::string& text);

WhyNot explain_why_not(const Outcome& free, const nlohmann::json& pins, OutcomeOptions options,
                       const CommonOptions& common, WarmTables& warm);

std::string to_text(const WhyNot& why, const Outcome& free, const TextStyle& style);
nlohmann::json to_json(const WhyNot& why, const Outcome& free);

}  // namespace superstep
