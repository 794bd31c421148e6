// SPDX-License-Identifier: Apache-2.0
// Planning of one job or many. The result of each job is a row: the best plan, or the reason why there is none.
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
  std::string reason;  // why there is no plan; empty with `planned`, and only then the fields below are set
  Plan plan;
  std::string fits;  // fits, tight, does_not_fit
  double score = 0;  // by the job's goal; the higher, the better
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;                               // seconds, 95 %
  double gap = 0;                               // gap of the search; 0: proved the best plan by the tables
  std::int64_t tile_peak = 0, ddr_per_ipu = 0;  // bytes on the fullest tile, on the IPU that holds most
  double fit_probability = 0;                   // of fitting in the tiles
  std::vector<std::string> not_validated;       // mechanisms of the plan that no measurement covers
};

// Searches, lowers the best `options.top` plans, and returns the plan that is fastest when timed in full, as `superstep
// plan` does. Throws Error if the job cannot be planned.
PlannedJob plan_job(const Job& job, SearchOptions options);

// Returns an error's message without the file at its beginning, for rows of a table about the file.
std::string without_file(const std::string& message, const std::string& file);

struct ManyProgress {
  std::size_t done = 0, without_plan = 0, jobs = 0;
  double share = 0;         // of all work; a job that is being searched counts by its own share
  double seconds_left = 0;  // estimated from the pace so far
  std::string what;         // the job's current activity, or its result
};

struct ManyOptions {
  SearchOptions search;                               // for each job; plan_jobs() sets the threads and progress
  int threads = 0;                                    // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty; one call at a time
};

// Plans the jobs job(0) to job(count - 1). Jobs run side by side on one thread each, because a search waits for its
// slowest thread cell after cell. When fewer jobs than threads are left, the jobs share the threads. Results do not
// depend on the threads.
// An error of one job becomes the job's row. `finished` gets the seconds that a job took. One thread at a time calls
// `finished`, in the order in which jobs end. An exception from `finished` ends all jobs.
void plan_jobs(std::size_t count, const std::function<Job(std::size_t)>& job, const ManyOptions& options,
               const std::function<void(std::size_t, const PlannedJob&, double seconds)>& finished);

}  // namespace superstep
