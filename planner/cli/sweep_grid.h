// SPDX-License-Identifier: Apache-2.0
// `sweep SWEEP.json`: runs a grid of jobs and prints the results.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "planner/cli/options.h"
#include "planner/sweep/sweep.h"

namespace superstep {

struct GridArguments {
  std::string sweep, results, format;  // paths of files; format: csv, json, markdown, or empty: a table for terminals
  double time_limit = 0;               // seconds per search; 0: searches end by their work (kBudget.whole_work)
  double lost_after = 10;              // seconds of silence after which a rank under mpirun is lost
};
// Runs the sweep in this process and returns the exit code.
int run_grid(const GridArguments& arguments, const CommonOptions& common);

// Returns the progress callback of many jobs: the number of finished jobs, and the time left for the other jobs.
std::function<void(const ManyProgress&)> progress_of_many(const CommonOptions& common);
// Like progress_of_many(), for a rank of mpirun, whose standard error is no terminal: prints a line every few seconds.
std::function<void(const ManyProgress&)> progress_on_ranks(const CommonOptions& common);
// Prints a note that is no error on standard error, as text or as JSON like the progress.
void note(const CommonOptions& common, const std::string& text);

// Returns a callback that prints {"row": ...} with the row as in `items`, for --progress json. Each line is written in
// one piece, because other threads print progress meanwhile. Returns an empty function otherwise.
std::function<void(const SweepRow&)> row_line(const CommonOptions& common);
// Prints and writes the rows, and returns the exit code. Items in `given_up` have no row, because the ranks that held
// the items were lost.
int finish_grid(const GridArguments& arguments, const CommonOptions& common, const Sweep& sweep,
                const std::vector<SweepRow>& rows, const std::set<std::size_t>& given_up = {});

}  // namespace superstep
