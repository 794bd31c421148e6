// SPDX-License-Identifier: Apache-2.0
// What an IPU does in a step, rolled up by operation: how often, how long, how many bytes, and how far from peak.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

enum class OperationGroup { operation, layer, kind };  // an op of equal layers; a layer and phase; an op type

// Cycles and bytes are of a step, on one IPU of the class: of a call times the calls.
struct OperationRow {
  std::string name;   // "layer0/attention/matmul.0", "layer3/attention forward", "matmul"
  std::string unit;   // the function it is in, "layer0/attention forward"; empty where there are several
  int function = -1;  // -1: several
  std::int64_t calls = 0;
  std::int64_t cycles = 0, compute_cycles = 0, exchange_cycles = 0, sync_cycles = 0;
  std::int64_t bytes = 0;
  std::int64_t live_bytes = 0;  // the most of its supersteps
  const report::EfficiencyRow* efficiency = nullptr;
};

// How often each function runs in a step on an IPU of the class: the repeats of the phases that call it.
std::vector<std::int64_t> function_calls(const report::Index& index, const HeatData& heat, int ipu_class);
// The function that runs in each phase of the heat map, by the calls of the program; -1: none.
std::vector<int> phase_functions(const report::Index& index, const HeatData& heat);

// In program order.
std::vector<OperationRow> operation_rows(const report::Index& index, const Steps& steps, const HeatData& heat,
                                         int ipu_class, OperationGroup group);

// The IPU class that is busy longest, whose operations say where the time goes; -1 without a plan.
int busiest_class(const report::Index& index);

inline constexpr int kOperationShare = 5;  // column: % of the step
// kSourceRole is the place in `rows`.
TableContents operations_table(const ReportPointer& report, std::shared_ptr<const std::vector<OperationRow>> rows,
                               Units units);
// The supersteps of one operation of one function, or for an empty op of the whole function.
TableContents operation_steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps, int function,
                                    const std::string& op);

}  // namespace superstep::gui
