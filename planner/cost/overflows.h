// SPDX-License-Identifier: Apache-2.0
// Finds which memory of a machine a lowered plan exceeds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/unit_table.h"

namespace superstep {

// One limit that a plan exceeds, at the place where it is exceeded most.
struct Overflow {
  // Name of the limit: "tile memory", "executable tile memory", "IO tile memory", "Streaming Memory", ... Empty: no
  // limit is known to be exceeded, and `detail` says why there is no plan.
  std::string constraint;
  std::string where;                                 // "IPU 1 (layer0/attention to layer6/ffn_down)"
  Bytes over;                                        // beyond the limit; 0: the limit is not one of bytes
  std::string detail;                                // `parts` as text: "weights 5.4 GB ..."
  std::vector<std::pair<std::string, Bytes>> parts;  // what is in the memory, in bytes per IPU, by name
  std::int64_t ipu = -1;                             // IPU group; -1: the overflow has no place in memory
  std::string during, op;                            // tile memory: function and op of the fullest moment
  std::int64_t step = -1;                            // step of function `during`; -1: not known
};

// Returns the worst place of each limit that a lowered plan exceeds, by ratio of use to limit, worst limit first.
// Empty: the plan fits.
std::vector<Overflow> find_overflows(const Program& program, const Timeline& timeline, const UnitTable& table);

}  // namespace superstep
