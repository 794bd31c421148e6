// SPDX-License-Identifier: Apache-2.0
// Why the peak is not reached, as a table for the terminal.
#pragma once

#include <string>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// Complete lines; empty where the report has no such rows.
std::string efficiency_text(const report::Index& index, const TextStyle& style);

}  // namespace superstep
