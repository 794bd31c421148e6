// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search_result.h"

#include <algorithm>

namespace superstep {

double score(const Job& job, const Candidate& c) {
  return job.goal.score(c.plan.global_batch(), static_cast<double>(c.estimate.cycles) / job.machine.chip.clock.value);
}

bool none_accepted(const SearchStats& stats, const Job& job) {
  const bool any = std::ranges::count(job.software, std::string(kAnySoftware)) > 0;
  return !any && stats.programmes == 0 && stats.best == 0 && !stats.stopped;
}

std::vector<std::string> left_notes(const SearchStats& s) {
  const auto many = [](double n, const std::string& what) {
    return std::to_string(static_cast<std::int64_t>(n)) + " " + what + (n == 1 ? "" : "s");
  };
  std::vector<std::string> out;
  if (s.gap > 0 && s.stopped)
    out.push_back("the search stopped early: --time-limit S gives it longer (0: until it is done)");
  else if (s.gap > 0)
    out.push_back("not proved optimal: the phase-cut budget was exhausted; more pins leave fewer cuts to search");
  else if (s.stopped)
    out.push_back(
        "the search stopped before it had all runners-up and the front: --time-limit S gives it longer (0: "
        "until it is done)");
  if (s.kinds_left > 0 && s.best > 0)
    out.push_back("a runner-up may be missing: the search budget of " + many(s.kinds_left, "kind") +
                  " of plan was exhausted before one fitted; none of these is better than the best plan");
  if (s.points_left > 0)
    out.push_back("the front may be incomplete: for " + many(s.points_left, "point") +
                  " the phase-cut budget was exhausted, so that a faster plan may exist");
  return out;
}

SearchStats operator+(const SearchStats& a, const SearchStats& b) {
  SearchStats sum = a;
  sum.explored += b.explored, sum.pruned += b.pruned, sum.feasible += b.feasible;
  sum.evaluations += b.evaluations, sum.programmes += b.programmes, sum.work += b.work;
  sum.seconds += b.seconds, sum.table_seconds += b.table_seconds;
  sum.faster += b.faster, sum.undecided += b.undecided, sum.kinds_left += b.kinds_left;
  sum.points_left += b.points_left, sum.stopped |= b.stopped;
  sum.best = std::max(a.best, b.best), sum.bound = std::max(a.bound, b.bound);
  sum.gap = sum.bound > 0 ? 1 - sum.best / sum.bound : 0;
  sum.optimal = sum.best > 0 ? sum.gap <= 1e-9 : a.optimal && b.optimal;
  return sum;
}

Overflow stopped_early() {
  return {"", "", Bytes(0), "the search stopped before it found one; --time-limit S gives it S seconds"};
}

}  // namespace superstep
