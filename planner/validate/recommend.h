// SPDX-License-Identifier: Apache-2.0
// The choice between the best plan by the model and the best plan whose mechanisms are all measured.
#pragma once

#include "planner/report/evaluated.h"

namespace superstep {

// True if the first plan is to be recommended, though no measured point covers some of its mechanisms: it is surely
// better than the second, all of whose mechanisms are measured, and not much faster than all that was ever measured of
// the job's question. Both need drawn worlds.
bool is_worth_the_bet(const Job& asked, const Evaluated& unmeasured, const Evaluated& measured);

}  // namespace superstep
