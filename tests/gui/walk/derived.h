// SPDX-License-Identifier: Apache-2.0
// What the viewer adds up, takes off or multiplies, each once more from the report. A column whose numbers are not the
// report's own needs a line here, or the walk fails.
#pragma once

#include <set>
#include <string>

#include "gui/session/session.h"
#include "tests/gui/walk/seen_table.h"

namespace superstep::gui {

// Checks the derived columns of a table, with EXPECT; their titles.
std::set<std::string> check_derived(const SeenTable& table, Session& session, const std::string& printed_json);

}  // namespace superstep::gui
