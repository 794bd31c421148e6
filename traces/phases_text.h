// SPDX-License-Identifier: Apache-2.0
// Table of phased execution: the units that each phase runs, and its times of computing and streaming.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// One pass of a phase. Cycles are per optimiser step. Computing and streaming overlap, so their sum may exceed
// `cycles`.
struct PhaseRow {
  std::string name;                 // "phase 3 forward"
  std::string contents;             // first and last unit: "layer0/attention to layer3/ffn_down"
  std::int64_t cycles = 0;          // of the phase as a whole
  std::int64_t compute_cycles = 0;  // of the units on the busiest IPU group, collectives included
  // Loads from Streaming Memory or the host for this phase and the next phase, joining of shards included.
  std::int64_t load_cycles = 0;
  std::int64_t store_cycles = 0;  // stores to Streaming Memory
};

// Returns all phases in program order; empty if the plan has a single phase.
std::vector<PhaseRow> phase_rows(const report::ProgramNode& program);
std::string phases_text(const report::Index& index, const TextStyle& style);

}  // namespace superstep
