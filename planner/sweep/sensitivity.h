// SPDX-License-Identifier: Apache-2.0
// How much a job's result depends on each number of its machine, and at which values another plan wins.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/sweep/plan_job.h"

namespace superstep {

// The job planned anew with one number of the machine changed.
struct ChangedNumber {
  std::string text;      // the number, for people; empty: no machine has this number, or the number would not be whole
  nlohmann::json value;  // the number as a job overrides it
  PlannedJob planned;
  // If another plan wins: the result of the unchanged machine's best plan on the changed machine.
  double same_plan_rate = 0;   // samples per second
  std::string same_plan_fits;  // fits, tight, does_not_fit; empty: the plan is not legal here
};

// The value of a number at which another plan begins to win. Plans with the same label() (t, p, r, m, g and number of
// phases) count as the same plan.
struct BreakPoint {
  bool below = true;          // true: another plan wins below the value; false: above
  bool exact = false;         // the value is whole, and the first value at which the other plan wins
  std::string text;           // the value, for people; if not exact, known to kBreakPointWidth
  nlohmann::json value = {};  // the value as a job overrides it
  double factor = 1;          // the value over the machine's number
  std::string winner;         // label of the other plan; empty: no plan fits
};
inline constexpr int kBisections = 6;
inline constexpr double kBreakPointWidth = 0.011;  // relative: 2^(1 / 2^kBisections) - 1

struct Sensitivity {
  std::string pointer, text;  // pointer into the machine file and value: "/links/rate", "16 GB/s"
  ChangedNumber half, twice;
  double elasticity = 0;  // d ln(samples/s) / d ln(number), over the changes with a plan
  std::vector<BreakPoint> break_points;
};

struct Sensitivities {
  PlannedJob best;                   // on the unchanged machine; without a plan `numbers` is empty
  std::vector<Sensitivity> numbers;  // in descending order of influence on the result
};

struct SensitivityOptions {
  double time_limit = 0;  // seconds per search; 0: searches end by their work (kBudget.whole_work)
  int threads = 0;        // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty
};

// Plans the job with every number halved and doubled. Each search is independent and builds its own tables. Then each
// number whose change makes another plan win is bisected, in at most kBisections searches.
Sensitivities find_sensitivities(const Job& job, const SensitivityOptions& options);

// Returns a number of a machine file times `factor`, as a job overrides it. Returns nothing if no machine can have the
// value, such as half a worker or an efficiency above one. Bytes and cycles are rounded if rounding changes the factor
// negligibly.
std::optional<nlohmann::json> scaled_number(const std::string& pointer, const std::string& text, double factor);

nlohmann::json to_json(const Sensitivities& found);

}  // namespace superstep
