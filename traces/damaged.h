// SPDX-License-Identifier: Apache-2.0
// Errors for reports whose columns contradict each other.
#pragma once

#include <string>

#include "model/error.h"
#include "traces/report_io.h"

namespace superstep {

// Throws Error that the report is damaged; `what` says in which way.
[[noreturn]] inline void damaged(const ReportFile& report, const std::string& what) {
  throw Error(report.path().string(), "damaged report: " + what);
}

// Throws Error unless each of `columns` has `rows` rows. `of` names the columns in the message ("tile.*").
template <class... Columns>
void check_rows(const ReportFile& report, const char* of, std::size_t rows, const Columns&... columns) {
  if (((columns.size() != rows) || ...)) damaged(report, std::string("the ") + of + " columns differ in length");
}

}  // namespace superstep
