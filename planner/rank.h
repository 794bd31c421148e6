// SPDX-License-Identifier: Apache-2.0
// Where one given plan stands among all plans of a job's space.
#pragma once

#include "planner/search.h"

namespace superstep {

// Settings are the points of the declared space, the cuts left out; each counts by its fastest cut that fits.
struct Rank {
  double samples_per_second = 0;  // of the given plan, by the tables, as the others are measured
  double faster = 0;              // settings found to be faster; those with equal tables count once
  double undecided = 0;           // that may be faster: time ran out, or only a bound is known
  double of = 0;                  // settings of the space
  bool exact() const { return undecided == 0; }
};

// The job's question with every plan field free but the precision, which is part of it.
nlohmann::json free_job(const Job& job);

// `tables` are of the free job. The plan need not be a point of its space, nor fit.
Rank rank(Tables& tables, const Plan& plan, SearchOptions options);

}  // namespace superstep
