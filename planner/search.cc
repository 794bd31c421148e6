// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <chrono>

#include "planner/best_first.h"
#include "planner/explain_infeasible.h"
#include "planner/front.h"

namespace superstep {

double score(const Job& job, const Candidate& c) {
  return job.goal.score(c.plan.global_batch(), static_cast<double>(c.estimate.cycles) / job.machine.chip.clock.value);
}

SearchResult search(Tables& tables, const SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  SearchResult out;
  out.space = describe_space(tables.job(), tables.statistics_group());
  BestFirst space(tables, options);
  Sweep all;
  all.goal = tables.job().goal;
  space.sweep(all);
  out.best = space.best();
  if (std::ssize(out.best) > options.top) out.best.resize(static_cast<std::size_t>(options.top));
  out.stats = space.stats();
  if (options.pareto && !out.best.empty() && !space.stopped()) {
    out.pareto = trace_front(space, tables.job(), out.best[0]);
    out.stats.programmes = space.stats().programmes;
    out.stats.evaluations = space.stats().evaluations;
    out.stats.table_seconds = space.stats().table_seconds;
  }
  if (options.record) {
    out.candidates = space.found();
    out.cells = space.searched_cells();
  }
  if (out.best.empty() && options.rank_of == 0 && options.explain)
    explain_infeasible(tables, options, space.cells(), space.cuts(), out);
  out.stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace superstep
