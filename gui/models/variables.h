// SPDX-License-Identifier: Apache-2.0
// Variables of a report, and their table.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/models/report_tables.h"

namespace superstep::gui {

struct Variables {
  TextColumn name, category;
  std::vector<std::int64_t> ipu_class, bytes_per_tile;
  std::vector<std::int64_t> first_phase, last_phase;  // rows of heat.phase; empty: the report does not say
  bool have_lifetimes() const { return !first_phase.empty(); }
};
Variables load_variables(const ReportFile& report);  // throws Error when the columns disagree
// Those of one IPU class, or of all for -1.
TableContents variables_table(const ReportPointer& report, std::shared_ptr<const Variables> variables, int ipu_class,
                              Units units);

}  // namespace superstep::gui
