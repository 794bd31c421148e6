// SPDX-License-Identifier: Apache-2.0
#include "planner/search/rank.h"

#include <nlohmann/json.hpp>

#include "planner/space/space.h"

namespace superstep {

nlohmann::json free_job(const Job& job) {
  nlohmann::json free = job.json();
  free.erase("plan");
  const nlohmann::json::json_pointer precision("/plan/precision");
  if (job.json().contains(precision)) free["plan"]["precision"] = job.json().at(precision);
  return free;
}

double step_seconds(Tables& tables, const Plan& plan) {
  const Setting setting(tables.table(table_key(plan)), plan, tables.job().optimizer, plan.phased());
  return tables.model().seconds(Cycles(evaluate(setting, plan).cycles)).value;
}

Rank rank(Tables& tables, std::int64_t global_batch, double step_seconds, SearchOptions options) {
  const Job& job = tables.job();
  Rank out;
  out.samples_per_second = static_cast<double>(global_batch) / step_seconds;
  for (const Cell& cell : cells(job, tables.statistics_group()))
    out.of += static_cast<double>(kinds_of(job, cell, false).size());
  options.rank_of = job.goal.score(global_batch, step_seconds);
  options.pareto = options.find_fix = false;
  const SearchStats stats = search(tables, options).stats;
  out.faster = stats.faster;
  out.undecided = stats.undecided;
  return out;
}

}  // namespace superstep
