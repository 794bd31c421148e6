// SPDX-License-Identifier: Apache-2.0
#include "gui/models/streaming.h"

namespace superstep::gui {

PhaseRows phases_of_report(const ReportPointer& report) {
  return std::make_shared<const std::vector<PhaseRow>>(phase_rows(report->index().program()));
}

TableContents streaming_table(const ReportPointer& report, const PhaseRows& rows) {
  const auto at = [rows](int row) -> const PhaseRow& { return (*rows)[static_cast<std::size_t>(row)]; };
  const double clock = report->index().clock_hz();
  const auto text = [](const std::string& s) { return QString::fromStdString(s); };
  const auto ms = [=](const QString& title, std::int64_t PhaseRow::*field) {
    const auto value = [=](int row) { return clock > 0 ? static_cast<double>(at(row).*field) / clock * 1e3 : 0.0; };
    return TableColumn{title + ", ms", true, [=](int row) { return fixed_decimals(value(row), 2); }, value};
  };
  const auto cycles = [=](const QString& title, std::int64_t PhaseRow::*field) {
    return TableColumn{title + ", cycles", true, [=](int row) { return grouped(at(row).*field); },
                       [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(at(row).*field)); }};
  };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {{"Phase", false, [=, keep = report](int row) { return text(at(row).name); }},
                 {"Runs", false, [=](int row) { return text(at(row).contents); }},
                 ms("Takes", &PhaseRow::cycles),
                 ms("Computing", &PhaseRow::compute_cycles),
                 ms("Loading", &PhaseRow::load_cycles),
                 ms("Storing", &PhaseRow::store_cycles),
                 {"Bound by", false,
                  [=](int row) {
                    const bool streams = at(row).load_cycles + at(row).store_cycles > at(row).compute_cycles;
                    return QString(streams ? "Streaming Memory" : "computing");
                  }},
                 cycles("Takes", &PhaseRow::cycles),
                 cycles("Computing", &PhaseRow::compute_cycles),
                 cycles("Loading", &PhaseRow::load_cycles),
                 cycles("Storing", &PhaseRow::store_cycles)};
  return out;
}

}  // namespace superstep::gui
