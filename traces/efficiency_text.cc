// SPDX-License-Identifier: Apache-2.0
#include "traces/efficiency_text.h"

#include "model/quantity_text.h"

namespace superstep {
namespace {

// An op's name without that of its unit: "layer0/attention/out/matmul.0" of "layer0/attention forward".
std::string short_name(const report::EfficiencyRow& row) {
  const std::string unit = row.unit().substr(0, row.unit().rfind(' ')) + "/";
  return row.op().compare(0, unit.size(), unit) == 0 ? row.op().substr(unit.size()) : row.op();
}

std::string milliseconds(double seconds) { return figure(seconds * 1e3); }

std::string rows_text(const report::Index& index, const TextStyle& style) {
  const double step = index.plan().step_time_s();
  TextTable table;
  table.headings = {"", "calls", "rows x contracted x columns", "of one tile", "AMP", "ms", "share", "of peak"};
  table.left_columns = {2, 3};
  std::string unit;
  for (const report::EfficiencyRow& row : index.efficiency()) {
    const bool first = row.unit() != unit;
    unit = row.unit();
    const std::string share = step > 0 ? percent(row.seconds() / step) : "";
    if (row.calls() == 0) {
      table.add({unit, "", "", "", "", milliseconds(row.seconds()), share, ""}, Ink::faint, true);
      continue;
    }
    if (first) table.add({unit, with_thousands(row.calls()), "", "", "", "", "", ""}, Ink::strong);
    if (row.op().empty()) {
      table.add({"  all else", "", "", "", "", milliseconds(row.seconds()), share, ""});
      continue;
    }
    table.add({"  " + short_name(row), "", row.product(), row.share(), percent(row.amp_efficiency()),
               milliseconds(row.seconds()), share,
               row.seconds() > 0 ? percent(row.useful_seconds() / row.seconds()) : ""});
  }
  table.add({"step", "", "", "", "", milliseconds(step), "", percent(index.plan().flop_utilisation())}, Ink::strong,
            true);
  return table.to_string(style);
}

std::string change_text(const report::PlanChange& change, double step) {
  return change.field() + " " + change.from() + " -> " + change.to() + ": " + percent(step / change.step_time_s() - 1) +
         " more samples/s" + (change.overflow().empty() ? "" : ", but does not fit: " + change.overflow());
}

}  // namespace

std::string efficiency_text(const report::Index& index, const TextStyle& style) {
  if (index.efficiency().empty()) return "";
  std::string out =
      inked("Why " + percent(index.plan().flop_utilisation()) + " of peak", Ink::strong, style) + "  " +
      inked("the busiest IPU in one step; calls run again for the backward pass count twice", Ink::faint, style) +
      "\n" + rows_text(index, style) + "\n";
  if (index.helpful_changes().empty()) return out + "No plan that differs in one field is faster.\n";
  out += inked("Faster with one field changed", Ink::strong, style) + "\n";
  for (const report::PlanChange& change : index.helpful_changes())
    out += "  " +
           inked(change_text(change, index.plan().step_time_s()), change.overflow().empty() ? Ink::good : Ink::faint,
                 style) +
           "\n";
  return out;
}

}  // namespace superstep
