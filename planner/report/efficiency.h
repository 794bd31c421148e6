// SPDX-License-Identifier: Apache-2.0
// Why a plan does not reach the peak: each product of the busiest IPU, and the effect of changing one field of the
// plan.
#pragma once

#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "traces/report_io.h"

namespace superstep {

// One product of a group of equal units, or all other work of the units. Counted on the busiest IPU in one optimiser
// step.
struct EfficiencyRow {
  std::string unit;           // "layer0/attention forward"
  std::string op;             // "qkv matmul"; empty: all work of the units besides products
  std::int64_t calls = 0;     // runs of the function in a step: units x micro-batches, twice with recompute
  std::string product;        // "2364 x 768 x 2304": rows x contracted x columns; "144 of ..." for several
  std::string share;          // the part of the product on one tile, in the same form
  std::int64_t tiles = 0;     // tiles that take part
  double amp_efficiency = 0;  // cycles on useful rows / all cycles of the vertex
  double useful_seconds = 0;  // seconds of a step for useful rows, at the peak of the operands' type on all tiles
  double seconds = 0;         // seconds of a step, with operands, partial sums and supersteps
};

// Returns rows in program order. The last row, "waiting, links, host, fixed", holds the rest of the step. The seconds
// of all rows sum to the step time.
std::vector<EfficiencyRow> efficiency_rows(const Evaluated& e, Tables& tables);

// A plan that differs in one field, and in fields that depend on the field, at the same global batch.
struct PlanChange {
  std::string field, from, to;
  double step_seconds = 0;
  std::string fits;      // fits, tight, does_not_fit
  std::string overflow;  // the worst overflow; empty: the plan fits
  Bytes over;            // bytes of the worst overflow
};
// Returns changes that make the step faster, at most one for each field. For a field the fastest change that fits is
// chosen, else the change with the smallest overflow. Changes that fit come first. Empty: no single change helps.
std::vector<PlanChange> helpful_changes(const Evaluated& e, Tables& tables);

}  // namespace superstep
