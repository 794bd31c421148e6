// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "planner/cli/sweep_grid.h"

namespace superstep {

// By what mpirun, or a scheduler that stands for it, leaves in the environment. Nothing of MPI is called without it.
inline bool started_as_rank() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr) return std::strtol(size, nullptr, 10) > 1;
  return std::getenv("PMIX_RANK") != nullptr;
}

// The grid worked off by all ranks that mpirun started: rank 0 reads it, hands out items, writes and prints; every rank
// plans, rank 0 too. A rank that is not heard of for `lost_after` seconds is given up, and others plan what it held.
int run_grid_on_ranks(const GridArguments& arguments, const CommonOptions& common);

}  // namespace superstep
