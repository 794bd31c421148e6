// SPDX-License-Identifier: Apache-2.0
// Where one given plan stands among all plans of a job's space.
#pragma once

#include <utility>

#include "planner/search/search.h"

namespace superstep {

// By kinds of plan: the degrees t, p and r, m and g, schedule or phases, places of state and stash. Each counts by its
// fastest plan that fits; the other fields would count what is as good as the same many times.
struct Rank {
  double samples_per_second = 0;  // of the given plan, by the tables, as the others are measured
  double faster = 0;              // kinds found to have a faster plan
  double undecided = 0;           // that may have one: time ran out, or only a bound is known
  double of = 0;                  // kinds of the space
  bool exact() const { return undecided == 0; }
};

// The job's question with every plan field free but the precision, which is part of it.
nlohmann::json free_job(const Job& job);

// What the plan takes by the tables, of its own job.
double step_seconds(Tables& tables, const Plan& plan);

// Among the plans of `tables`' job one that takes so long. It need not be a point of its space, nor fit.
Rank rank(Tables& tables, std::int64_t global_batch, double step_seconds, SearchOptions options);
inline Rank rank(Tables& tables, const Plan& plan, SearchOptions options) {
  return rank(tables, plan.global_batch(), step_seconds(tables, plan), std::move(options));
}

}  // namespace superstep
