// SPDX-License-Identifier: Apache-2.0
// How much a job's result depends on each number of its machine, and at which number another plan wins.
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
  std::string text;      // of the number, for people; empty: there is no machine with it, or it would not be whole
  nlohmann::json value;  // as a job overrides it
  PlannedJob planned;
  // Where another plan wins: what the best plan of the unchanged machine does here.
  double same_plan_rate = 0;   // samples per second
  std::string same_plan_fits;  // empty: it is not legal here
};

// The best plan wins on one side of a number. Plans are told apart by label(): t, p, r, m, g and the number of phases.
struct BreakPoint {
  bool below = true;          // another plan wins below the number, else above
  bool exact = false;         // whole, and the first number at which the other plan wins
  std::string text;           // of the number, known to kBreakPointWidth where it is not exact
  nlohmann::json value = {};  // as a job overrides it
  double factor = 1;          // over the machine's number
  std::string winner;         // the plan on the other side; empty: none fits
};
inline constexpr int kBisections = 6;
inline constexpr double kBreakPointWidth = 0.011;  // 2^(1 / 2^kBisections) - 1

struct Sensitivity {
  std::string pointer, text;  // of the machine file: "/links/rate", "16 GB/s"
  ChangedNumber half, twice;
  double elasticity = 0;  // d ln(samples/s) / d ln(number), across the changes that have a plan
  std::vector<BreakPoint> break_points;
};

struct Sensitivities {
  PlannedJob best;                   // of the unchanged machine; without a plan the rest is empty
  std::vector<Sensitivity> numbers;  // what the result depends on most comes first
};

struct SensitivityOptions {
  double time_limit = 50;                             // seconds, of each search; 0: none
  int threads = 0;                                    // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty
};

// Every number is halved and doubled, and the job searched anew from its tables on: nothing is carried over. Then each
// number whose change made another plan win is bisected, by kBisections searches at most.
Sensitivities find_sensitivities(const Job& job, const SensitivityOptions& options);

// A number of a machine file times `factor`, as a job overrides it; empty where that is no number of a machine: half of
// a worker, an efficiency above one. Bytes and cycles are rounded where that makes no difference to speak of.
std::optional<nlohmann::json> scaled_number(const std::string& pointer, const std::string& text, double factor);

nlohmann::json to_json(const Sensitivities& found);

}  // namespace superstep
