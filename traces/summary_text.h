// SPDX-License-Identifier: Apache-2.0
// A report for the terminal: verdict, plan, waterfall, memory, search, runners-up, notes.
#pragma once

#include <string>
#include <string_view>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// Complete lines, ending with a newline; parts the report lacks are left out.
std::string summary_text(const report::Index& index, const TextStyle& style = {});

// Its parts, each complete lines or empty.
std::string plan_text(const report::Index& index, const TextStyle& style);
std::string waterfall_text(const report::Index& index, const TextStyle& style);
std::string memory_text(const report::Index& index, const TextStyle& style);
std::string plans_text(const report::Index& index, const TextStyle& style);  // runners-up against the plan

Ink ink_of_kind(std::string_view kind);  // plain for one that is not known

}  // namespace superstep
