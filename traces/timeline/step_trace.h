// SPDX-License-Identifier: Apache-2.0
// The supersteps (steps) of all functions of a report, with sums of their times. A step is found by binary search, and
// sums over any range take two look-ups. Ten million steps take some 160 MB and one pass over six columns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "traces/report_io.h"
#include "traces/timeline/packed.h"
#include "traces/timeline/work.h"

namespace superstep::trace {

// The step columns of a report.
struct Steps {
  PackedTexts name, kind, term;
  PackedIntegers function, cycles, compute_cycles, exchange_cycles, sync_cycles, bytes, live_bytes;
  // Empty in old reports. temporary_bytes: the part of live_bytes that only the step needs. keeping_bytes: bytes beside
  // live_bytes in a call that keeps (Node::keeps). tiles: tiles that take part; 0: all.
  PackedIntegers temporary_bytes, keeping_bytes, tiles;
};

struct StepTrace {
  struct Function {
    std::int64_t first = 0, steps = 0;   // first row, and number of rows
    std::int64_t begin = 0, cycles = 0;  // cycles of all rows before `first`, and of the function's rows
  };
  std::vector<Function> functions;
  PackedTexts name, term, kind;
  Sums start, compute, exchange;  // cycles of each step: all, compute, exchange; start.before(row) is the step's start
  Sums collective;                // cycles of each step; empty: no step moves data between IPUs
  PackedIntegers tiles;           // tiles that take part; 0: all; empty: an older report does not say

  std::int64_t rows() const { return start.size(); }
  std::int64_t cycles(int function) const;       // of one call; -1: no such function
  WorkCycles step_sums(std::int64_t row) const;  // cycles of one step: compute, exchange, collective, sync
  // Returns the cycles of [from, to), counted from the start of the function. A step that the range cuts counts in the
  // order exchange, collective, compute, sync.
  WorkCycles sums(int function, std::int64_t from, std::int64_t to) const;
  // Calls `take` for the steps that overlap [from, to). Neighbouring steps shorter than `least` cycles are joined, with
  // row -1.
  void visit(int function, std::int64_t from, std::int64_t to, std::int64_t least,
             const std::function<void(std::int64_t row, std::int64_t from, std::int64_t to)>& take) const;

 private:
  WorkCycles between(std::int64_t first, std::int64_t last) const;
  std::int64_t row_at(const Function& f, std::int64_t cycle) const;
};

// Loads the steps of a report; empty if the report has no steps. Columns in `known`, of the same report, are shared
// rather than read again; null: none are known. Throws Error if columns disagree, or a function has rows that do not
// exist.
StepTrace load_step_trace(const ReportFile& report, const Steps* known = nullptr);

}  // namespace superstep::trace
