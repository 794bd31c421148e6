// SPDX-License-Identifier: Apache-2.0
// A report as text for the terminal: verdict, plan, waterfall, memory, search, runners-up, notes.
#pragma once

#include <string>
#include <string_view>

#include "traces/report.pb.h"
#include "traces/text_table.h"

namespace superstep {

// Returns complete lines, ending with a newline. Parts that the report lacks are left out.
std::string summary_text(const report::Index& index, const TextStyle& style = {});

// Return one part of the text each: complete lines, or empty if the report lacks the part.
std::string plan_text(const report::Index& index, const TextStyle& style);
std::string waterfall_text(const report::Index& index, const TextStyle& style);
std::string memory_text(const report::Index& index, const TextStyle& style);
std::string plans_text(const report::Index& index, const TextStyle& style);  // runners-up against the plan

Ink ink_of_kind(std::string_view kind);  // by name of a TermKind; Ink::plain: unknown kind

}  // namespace superstep
