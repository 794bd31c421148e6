// SPDX-License-Identifier: Apache-2.0
// Jobs planned one after another or side by side, each to a row: its best plan, or why there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "planner/search/search.h"
#include "traces/band.h"

namespace superstep {

enum class PlanStatus : std::uint8_t {
  planned,
  infeasible,  // no plan fits, or none is legal
  failed,      // the job could not be planned: bad input, an unsupported node, too little memory
};
const char* name_of(PlanStatus status);

struct PlannedJob {
  PlanStatus status = PlanStatus::planned;
  std::string reason;  // why there is no plan; with `planned` empty, and all below is given
  Plan plan;
  std::string fits;
  double score = 0;  // by the job's goal
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;                               // seconds, 95 %
  double gap = 0;                               // that the search left; 0: the best plan by the tables
  std::int64_t tile_peak = 0, ddr_per_ipu = 0;  // bytes: of the fullest tile, of the IPU that holds most
  std::vector<std::string> not_validated;
};

// Searches, lowers the best `options.top` plans and keeps the one that is fastest in full, as `superstep plan` does.
// Throws Error where the job cannot be planned.
PlannedJob plan_job(const Job& job, SearchOptions options);

// The message of an error without the file it begins with, for rows of a table about that file.
std::string without_file(const std::string& message, const std::string& file);

struct ManyProgress {
  std::size_t done = 0, without_plan = 0, jobs = 0;
  double share = 0;         // of all work, those that are searched now counted by their own share
  double seconds_left = 0;  // by the pace so far
  std::string what;
};

struct ManyOptions {
  SearchOptions search;                               // of each job; its threads and progress are set here
  int threads = 0;                                    // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty; one call at a time
};

// Plans the jobs that `job` makes of 0 ... count - 1. Jobs run side by side, each on one thread, because a search waits
// for its slowest thread cell after cell and jobs wait for nobody; only where fewer jobs are left than threads do they
// share those. Results do not depend on it. What goes wrong with one job is its row; `finished` is called by one thread
// at a time, in the order in which jobs end, with the seconds it took. What `finished` throws ends all.
void plan_jobs(std::size_t count, const std::function<Job(std::size_t)>& job, const ManyOptions& options,
               const std::function<void(std::size_t, const PlannedJob&, double seconds)>& finished);

}  // namespace superstep
