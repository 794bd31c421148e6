// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/cli/options.h"
#include "planner/sweep.h"

namespace superstep {

struct GridArguments {
  std::string sweep, results, format;  // files; csv, json, markdown, or empty: a table for terminals
  double time_limit = 50;              // seconds, of each search; 0: none
};
int run_grid(const GridArguments& arguments, const CommonOptions& common);

// Progress of many jobs: how many are done and how long the others will take.
std::function<void(const ManyProgress&)> progress_of_many(const CommonOptions& common);

}  // namespace superstep
