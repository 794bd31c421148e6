// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <algorithm>
#include <chrono>

#include "planner/best_first.h"
#include "planner/explain_infeasible.h"
#include "planner/front.h"
#include "planner/parallel.h"
#include "planner/proved_bests.h"
#include "planner/space.h"

namespace superstep {

double score(const Job& job, const Candidate& c) {
  return job.goal.score(c.plan.global_batch(), static_cast<double>(c.estimate.cycles) / job.machine.chip.clock.value);
}

namespace {

// Whether the whole space is searched, and whether nothing but its best plan is asked for.
bool searches_all(const SearchOptions& o) { return !o.defaults && o.rank_of == 0; }
bool asks_for_one(const SearchOptions& o) {
  return searches_all(o) && o.top == 1 && !o.pareto && !o.record && o.at_least == 0;
}

// 0: there is none.
double best_score(const Job& job, const std::vector<Candidate>& list) {
  double best = 0;
  for (const Candidate& c : list) best = std::max(best, score(job, c));
  return best;
}

void drop_known(std::vector<Candidate>& list) {
  std::erase_if(list, [](const Candidate& c) { return c.elsewhere; });
}

}  // namespace

SearchResult search(Tables& tables, const SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const double of_tables = tables.seconds();
  SearchResult out;
  std::vector<Cell> all_cells = cells(tables.job(), tables.statistics_group());
  BestFirst::Sweep all;
  all.goal = tables.job().goal;
  std::optional<JobPlans> plans;
  if (searches_all(options)) plans.emplace(tables.job(), all_cells);
  std::optional<Plan> near;
  if (asks_for_one(options)) {
    ProvedBests::Answer proved = tables.proved_bests().find(*plans);
    const double known = best_score(tables.job(), options.known);
    if (proved.best || (known > 0 && known >= proved.ceiling)) {
      for (const Cell& cell : all_cells) out.stats.pruned += cell.all_settings();
      if (proved.best) out.best = out.candidates = {*std::move(proved.best)};
      out.stats.best = out.stats.bound = std::max(known, best_score(tables.job(), out.best));
      out.stats.optimal = true;
      out.stats.seconds = seconds();
      return out;
    }
    all.ceiling = proved.ceiling;
    near = std::move(proved.near);
  }
  BestFirst space(tables, options, options.defaults ? cells(tables.job(), tables.statistics_group(), true) : all_cells);
  if (near) space.try_first(*near);
  space.sweep(all);
  out.best = space.best();
  if (std::ssize(out.best) > options.top) out.best.resize(static_cast<std::size_t>(options.top));
  out.stats = space.stats();
  if (options.pareto && !out.best.empty() && !space.stopped()) {
    out.pareto = trace_front(space, tables.job(), out.best[0]);
    out.stats.programmes = space.stats().programmes;
    out.stats.evaluations = space.stats().evaluations;
  }
  if (out.best.empty() && options.rank_of == 0 && options.explain)
    explain_infeasible(tables, options, space.cells(), space.cuts(), out);
  out.candidates = space.found();
  if (options.record) out.cells = space.searched_cells();
  const bool own = !out.best.empty() && !out.best[0].elsewhere;  // else better ones may have been left out
  for (auto* list : {&out.best, &out.pareto, &out.candidates}) drop_known(*list);
  if (plans && out.stats.optimal && !space.stopped())
    tables.proved_bests().add(*std::move(plans), space.ceiling(), own ? std::optional(out.best[0]) : std::nullopt);
  out.stats.table_seconds = (tables.seconds() - of_tables) / static_cast<double>(thread_count(options.threads));
  out.stats.seconds = seconds();
  return out;
}

}  // namespace superstep
