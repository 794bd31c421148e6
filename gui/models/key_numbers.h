// SPDX-License-Identifier: Apache-2.0
// The plan in a few numbers: the table twin of those on the summary.
#pragma once

#include "gui/models/report_tables.h"

namespace superstep::gui {

// Rows of key_numbers_table().
enum class KeyNumberRow { throughput, step_time, utilisation, tile, limit, spare, ddr, batch, ipus, power };
inline constexpr int kKeyNumberValue = 1;  // column

// Name, value, unit; then what was searched, and the report's facts. Without a plan only those.
TableContents key_numbers_table(const ReportPointer& report);

}  // namespace superstep::gui
