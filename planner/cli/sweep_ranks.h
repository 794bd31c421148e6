// SPDX-License-Identifier: Apache-2.0
// A sweep shared by the ranks of an mpirun.
#pragma once

#include <cstdlib>

#include "planner/cli/sweep_grid.h"

namespace superstep {

// True if mpirun, or a scheduler in its place, started this process: both set environment variables. Otherwise no MPI
// function is called.
inline bool started_as_rank() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr) return std::strtol(size, nullptr, 10) > 1;
  return std::getenv("PMIX_RANK") != nullptr;
}

// Runs the sweep on all ranks that mpirun started. Rank 0 reads the sweep, hands out items, stores and prints results;
// every rank plans, rank 0 too. A rank that is silent for `lost_after` seconds is given up, and other ranks plan its
// items.
int run_grid_on_ranks(const GridArguments& arguments, const CommonOptions& common);

}  // namespace superstep
