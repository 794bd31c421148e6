// SPDX-License-Identifier: Apache-2.0
// Replacement of ranks.cc and sweep_ranks.cc for a build without MPI.
#include "model/error.h"
#include "planner/cli/sweep_ranks.h"

namespace superstep {

int run_grid_on_ranks(const GridArguments&, const CommonOptions&) {
  throw Error("mpirun", "this program was built without MPI; expected one configured with -DSUPERSTEP_MPI=ON");
}

}  // namespace superstep
