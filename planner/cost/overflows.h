// SPDX-License-Identifier: Apache-2.0
// What of a machine's memory a lowered plan exceeds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/unit_table.h"

namespace superstep {

// What a plan that comes closest runs into.
struct Overflow {
  // Empty: nothing is known to be in the way, `detail` says why there is no plan.
  std::string constraint;  // "tile memory", "executable tile memory", "IO tile memory", "Streaming Memory", ...
  std::string where;       // "IPU 1 (layer0/attention to layer6/ffn_down)"
  Bytes over;              // beyond the limit; 0 when bytes are not the matter
  std::string detail;      // the sum, named: "weights 5.4 GB ..."
  std::vector<std::pair<std::string, Bytes>> parts;  // that sum, per IPU
  std::int64_t ipu = -1;                             // IPU group; -1: no place in memory
  std::string during, op;                            // tile memory: function and op of the fullest moment
  std::int64_t step = -1;                            // in that function
};

// Where and by how much a lowered plan exceeds the machine, the worst place of each constraint, the worst
// first; empty when it fits.
std::vector<Overflow> find_overflows(const Program& program, const Timeline& timeline, const UnitTable& table);

}  // namespace superstep
