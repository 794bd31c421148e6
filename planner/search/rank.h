// SPDX-License-Identifier: Apache-2.0
// The rank of one given plan among all plans of a job's space.
#pragma once

#include <utility>

#include "planner/search/search.h"

namespace superstep {

// A rank among kinds of plan: the degrees t, p and r, m and g, schedule or phases, places of state and stash. Each kind
// counts by its fastest plan that fits. Single plans would count equally good plans many times.
struct Rank {
  double samples_per_second = 0;  // of the given plan, by the tables, as for all other plans
  double faster = 0;              // kinds with a faster plan
  double undecided = 0;           // kinds that may have a faster plan: time ran out, or only a bound is known
  double of = 0;                  // kinds in the space
  bool exact() const { return undecided == 0; }
};

// Returns the job as JSON with every plan field free but the precision, which is part of the question.
nlohmann::json free_job(const Job& job);

// Returns the seconds of a step of the plan by the tables, which are of the plan's own job.
double step_seconds(Tables& tables, const Plan& plan);

// Returns the rank of a plan with this batch and time of a step among the plans of the job of `tables`. The plan need
// not be in the space of the job, nor fit.
Rank rank(Tables& tables, std::int64_t global_batch, double step_seconds, SearchOptions options);
inline Rank rank(Tables& tables, const Plan& plan, SearchOptions options) {
  return rank(tables, plan.global_batch(), step_seconds(tables, plan), std::move(options));
}

}  // namespace superstep
