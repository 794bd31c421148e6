// SPDX-License-Identifier: Apache-2.0
// Table for the terminal of the reasons why the plan does not reach the machine's peak.
#pragma once

#include <string>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// Returns complete lines; empty if the report has no such rows.
std::string efficiency_text(const report::Index& index, const TextStyle& style);

}  // namespace superstep
