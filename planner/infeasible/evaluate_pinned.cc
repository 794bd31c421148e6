// SPDX-License-Identifier: Apache-2.0
#include "planner/infeasible/evaluate_pinned.h"

#include "model/error.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/infeasible/legal_changes.h"

namespace superstep {

Evaluated evaluate_pinned(Tables& tables, int threads) {
  SearchOptions options;
  options.top = 1;
  options.defaults = true;
  options.pareto = options.find_fix = false;
  options.explain = explain_infeasible;
  options.legal_changes = legal_changes_text;
  options.threads = threads;
  const SearchResult r = search(tables, options);
  if (r.best.empty() && !r.closest)
    throw Error(tables.job().source + "#/plan",
                !r.overflows.empty() ? r.overflows.front().detail : "the pinned plan is not legal");
  return evaluate_in_full(tables, r.best.empty() ? *r.closest : r.best[0].plan);
}

}  // namespace superstep
