// SPDX-License-Identifier: Apache-2.0
// What checks the derived columns of one table, by families of views.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gui/session/session.h"
#include "tests/gui/walk/seen_table.h"

namespace superstep::gui {

using Titles = std::set<std::string>;

struct Asked {
  const SeenTable& t;
  const ReportFile& report;
  const report::Index& index;
  const nlohmann::json& printed;
};

inline double ms(const Asked& a, double cycles) { return cycles / a.index.clock_hz() * 1e3; }

// One column is another in ms or microseconds.
void times(const Asked& a, const char* time, const char* cycles, double unit = 1e3);
// Each begins where the one before it ends.
void follow(const Asked& a, const char* begins, const char* takes);

// By view and table: "summary/Fit".
using Rules = std::map<std::string, Titles (*)(const Asked&)>;
Rules summary_rules();
Rules memory_rules();
Rules time_rules();
Rules program_rules();
Rules compare_rules();

}  // namespace superstep::gui
