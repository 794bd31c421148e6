// SPDX-License-Identifier: Apache-2.0
// The steps of the functions with sums of their times: a step is found by search, the sums of any stretch are two
// look-ups. Ten million steps take some 160 MB and one pass over six columns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "traces/report_io.h"
#include "traces/timeline/packed.h"
#include "traces/timeline/work.h"

namespace superstep::trace {

// The columns of the steps.
struct Steps {
  PackedTexts name, kind, term;
  PackedIntegers function, cycles, compute_cycles, exchange_cycles, sync_cycles, bytes, live_bytes;
  // Empty in old reports: of live_bytes, what only the step needs; what a call that keeps has beside them; tiles that
  // take part, 0 for all.
  PackedIntegers temporary_bytes, keeping_bytes, tiles;
};

struct StepTrace {
  struct Function {
    std::int64_t first = 0, steps = 0;
    std::int64_t begin = 0, cycles = 0;  // of all rows ahead of it, and its own
  };
  std::vector<Function> functions;
  PackedTexts name, term, kind;
  Sums start, compute, exchange;
  Sums collective;       // empty: none is
  PackedIntegers tiles;  // that take part, 0: all; empty: an older report does not say

  std::int64_t rows() const { return start.size(); }
  std::int64_t cycles(int function) const;
  WorkCycles step_sums(std::int64_t row) const;  // compute, exchange, sync, collective
  // Of [from, to) counted from the function's start; a step cut by it counts in the order exchange, compute, sync.
  WorkCycles sums(int function, std::int64_t from, std::int64_t to) const;
  // Steps that meet [from, to); neighbours shorter than `least` joined, as row -1.
  void visit(int function, std::int64_t from, std::int64_t to, std::int64_t least,
             const std::function<void(std::int64_t row, std::int64_t from, std::int64_t to)>& take) const;

 private:
  WorkCycles between(std::int64_t first, std::int64_t last) const;
  std::int64_t row_at(const Function& f, std::int64_t cycle) const;
};

// Throws Error when the columns disagree, or functions have rows that do not exist. What `known` has of the same report
// is shared with it, not read again; null: nothing is known.
StepTrace load_step_trace(const ReportFile& report, const Steps* known = nullptr);

}  // namespace superstep::trace
