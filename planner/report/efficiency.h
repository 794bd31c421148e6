// SPDX-License-Identifier: Apache-2.0
// Why the peak is not reached: the busiest IPU's products one by one, and what other plans one field away would do.
#pragma once

#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// One product of units that are alike, or all else that such units do, on the busiest IPU in one optimizer step.
struct EfficiencyRow {
  std::string unit;           // "layer0/attention forward"
  std::string op;             // "qkv matmul"; empty: what the units do beside products
  std::int64_t calls = 0;     // of the function, in a step: units x micro-batches, twice where it runs again
  std::string product;        // "2364 x 768 x 2304": rows x contracted x columns, "144 of" several
  std::string share;          // the same, of one tile
  std::int64_t tiles = 0;     // that take part
  double amp_efficiency = 0;  // cycles on useful rows / all cycles of the vertex
  double useful_seconds = 0;  // of a step, at the rate of the operands' type and all tiles
  double seconds = 0;         // of a step, operands, partial sums and supersteps included
};

// In program order. The last row, "waiting, links, host, fixed", is the rest of the step; all sum to the step time.
std::vector<EfficiencyRow> efficiency_rows(const Evaluated& e, Tables& tables);

// A plan that differs in one field and what goes with it at the same global batch.
struct PlanChange {
  std::string field, from, to;
  double step_seconds = 0;
  std::string fits;      // fits, tight, does_not_fit
  std::string overflow;  // the worst; empty: it fits
  Bytes over;            // of that one
};
// Faster plans only, one of each field: the fastest that fits, else the one that is least over; those that fit ahead.
// Empty: nothing helps alone.
std::vector<PlanChange> helpful_changes(const Evaluated& e, Tables& tables);

}  // namespace superstep
