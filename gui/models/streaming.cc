// SPDX-License-Identifier: Apache-2.0
#include "gui/models/streaming.h"
#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {

PhaseRows phases_of_report(const ReportPointer& report) {
  return std::make_shared<const std::vector<PhaseRow>>(phase_rows(report->index().program()));
}

TableContents streaming_table(const ReportPointer& report, const PhaseRows& rows) {
  const auto at = [rows](int row) -> const PhaseRow& { return (*rows)[static_cast<std::size_t>(row)]; };
  const double clock = report->index().clock_hz();
  const auto ms = [=](const ColumnTitle& title, std::int64_t PhaseRow::*field) {
    const auto value = [=](int row) { return clock > 0 ? static_cast<double>(at(row).*field) / clock * 1e3 : 0.0; };
    return TableColumn{title + ", ms", true, [=](int row) { return fixed_decimals(value(row), 2); }, value};
  };
  const auto cycles = [=](const ColumnTitle& title, std::int64_t PhaseRow::*field) {
    return TableColumn{title + ", cycles", true, [=](int row) { return grouped(at(row).*field); },
                       [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(at(row).*field)); }};
  };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"Phase", means::kPhase}, false, [=, keep = report](int row) { return text(at(row).name); }},
                 {{"Runs", means::kRuns}, false, [=](int row) { return text(at(row).contents); }},
                 ms({"Takes", means::kTakesMs}, &PhaseRow::cycles),
                 ms({"Computing", means::kComputingMs}, &PhaseRow::compute_cycles),
                 ms({"Loading", means::kLoadingMs}, &PhaseRow::load_cycles),
                 ms({"Storing", means::kStoringMs}, &PhaseRow::store_cycles),
                 {{"Bound by", means::kBoundBy},
                  false,
                  [=](int row) {
                    const bool streams = at(row).load_cycles + at(row).store_cycles > at(row).compute_cycles;
                    return QString(streams ? "Streaming Memory" : "computing");
                  }},
                 cycles({"Takes", means::kTakesCycles}, &PhaseRow::cycles),
                 cycles({"Computing", means::kComputingCycles}, &PhaseRow::compute_cycles),
                 cycles({"Loading", means::kLoadingCycles}, &PhaseRow::load_cycles),
                 cycles({"Storing", means::kStoringCycles}, &PhaseRow::store_cycles)};
  return out;
}

}  // namespace superstep::gui
