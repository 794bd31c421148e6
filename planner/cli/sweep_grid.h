// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "planner/cli/options.h"
#include "planner/sweep/sweep.h"

namespace superstep {

struct GridArguments {
  std::string sweep, results, format;  // files; csv, json, markdown, or empty: a table for terminals
  double time_limit = 50;              // seconds, of each search; 0: none
  double lost_after = 10;              // seconds of silence, of a rank under mpirun
};
int run_grid(const GridArguments& arguments, const CommonOptions& common);

// Progress of many jobs: how many are done and how long the others will take.
std::function<void(const ManyProgress&)> progress_of_many(const CommonOptions& common);
// The same for a rank of mpirun, whose standard error is no terminal: a line every few seconds.
std::function<void(const ManyProgress&)> progress_on_ranks(const CommonOptions& common);
// A line on standard error that is no error; in the form of the progress.
void note(const CommonOptions& common, const std::string& text);

// With `--progress json`: {"row": as in `items`}, in one piece, since other threads tell their progress meanwhile. Else
// empty.
std::function<void(const SweepRow&)> row_line(const CommonOptions& common);
// Prints and writes the rows; the exit code. Items that were given up, because the ranks that held them were lost, have
// no row.
int finish_grid(const GridArguments& arguments, const CommonOptions& common, const Sweep& sweep,
                const std::vector<SweepRow>& rows, const std::set<std::size_t>& given_up = {});

}  // namespace superstep
