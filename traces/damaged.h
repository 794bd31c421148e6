// SPDX-License-Identifier: Apache-2.0
// What is said of a report whose columns do not go together.
#pragma once

#include <string>

#include "model/error.h"
#include "traces/report_io.h"

namespace superstep {

[[noreturn]] inline void damaged(const ReportFile& report, const std::string& what) {
  throw Error(report.path().string(), "damaged report: " + what);
}

// Throws Error unless `columns`, which `of` names ("tile.*"), have `rows` rows each.
template <class... Columns>
void check_rows(const ReportFile& report, const char* of, std::size_t rows, const Columns&... columns) {
  if (((columns.size() != rows) || ...)) damaged(report, std::string("the ") + of + " columns differ in length");
}

}  // namespace superstep
