// SPDX-License-Identifier: Apache-2.0
#include "planner/rank.h"

#include "planner/space.h"

namespace superstep {

nlohmann::json free_job(const Job& job) {
  nlohmann::json free = job.json;
  free.erase("plan");
  const nlohmann::json::json_pointer precision("/plan/precision");
  if (job.json.contains(precision)) free["plan"]["precision"] = job.json.at(precision);
  return free;
}

Rank rank(Tables& tables, const Plan& plan, SearchOptions options) {
  const Job& job = tables.job();
  const Setting setting(tables.table(table_key(plan)), plan, job.optimizer, plan.phased());
  const double seconds = tables.model().seconds(Cycles(evaluate(setting, plan).cycles)).value;
  Rank out;
  out.samples_per_second = static_cast<double>(plan.global_batch()) / seconds;
  for (const Cell& cell : cells(job, tables.statistics_group()))
    out.of += static_cast<double>(kinds_of(job, cell, false).size());
  options.rank_of = job.goal.score(plan.global_batch(), seconds);
  options.pareto = options.find_fix = false;
  const SearchStats stats = search(tables, options).stats;
  out.faster = stats.faster;
  out.undecided = stats.undecided;
  return out;
}

}  // namespace superstep
