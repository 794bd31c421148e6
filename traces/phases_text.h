// SPDX-License-Identifier: Apache-2.0
// Phased execution, phase by phase: what runs, and what of the time is computing and what streaming.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// A phase of a pass. Cycles of an optimizer step; computing and streaming overlap, so that they sum to more.
struct PhaseRow {
  std::string name;                 // "phase 3 forward"
  std::string contents;             // the units it runs, first and last
  std::int64_t cycles = 0;          // of the phase as a whole
  std::int64_t compute_cycles = 0;  // of its units, on the busiest IPU group, collectives included
  // From Streaming Memory or the host, joining shards included, for itself and for the phase that comes next.
  std::int64_t load_cycles = 0;
  std::int64_t store_cycles = 0;  // to Streaming Memory
};

// In program order; empty where the plan has one phase.
std::vector<PhaseRow> phase_rows(const report::ProgramNode& program);
std::string phases_text(const report::Index& index, const TextStyle& style);

}  // namespace superstep
