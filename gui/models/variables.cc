// SPDX-License-Identifier: Apache-2.0
#include "gui/models/variables.h"

#include <algorithm>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"
#include "traces/damaged.h"

namespace superstep::gui {

Variables load_variables(const ReportFile& report) {
  Variables out;
  if (!report.has_column("variable.name")) return out;
  out.name = report.column_texts("variable.name");
  out.category = report.column_texts("variable.category");
  out.ipu_class = report.column_integers("variable.ipu_class");
  out.bytes_per_tile = report.column_integers("variable.bytes_per_tile");
  check_rows(report, "variable.*", out.name.size(), out.category, out.ipu_class, out.bytes_per_tile);
  if (report.has_column("variable.first_phase")) {
    out.first_phase = report.column_integers("variable.first_phase");
    out.last_phase = report.column_integers("variable.last_phase");
    check_rows(report, "variable.*", out.name.size(), out.first_phase, out.last_phase);
  }
  for (const std::int64_t c : out.ipu_class) {
    if (c < 0 || c >= report.index().ipu_classes_size()) {
      damaged(report, "a variable on IPU class " + std::to_string(c));
    }
  }
  return out;
}

TableContents variables_table(const ReportPointer& report, std::shared_ptr<const Variables> variables, int ipu_class,
                              Units units) {
  auto rows = std::make_shared<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < variables->name.size(); ++i) {
    if (ipu_class < 0 || variables->ipu_class[i] == ipu_class) rows->push_back(i);
  }
  const auto at = [rows](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto bytes = [=](int row) { return variables->bytes_per_tile[at(row)]; };
  std::int64_t largest = 1;
  for (const std::size_t i : *rows) largest = std::max(largest, variables->bytes_per_tile[i]);
  const auto category = [=](int row) { return text(variables->category[at(row)]); };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {
      {{"Variable", means::kVariable}, false, [=](int row) { return text(variables->name[at(row)]); }},
      {.title = {"Category", means::kCategory}, .text = category, .memory = category},
      {"IPU", false,
       [=, keep = report](int row) {
         return text(keep->index().ipu_classes(static_cast<int>(variables->ipu_class[at(row)])).name());
       }},
      bytes_column({unit_name(units), means::kVariableBytes}, units, bytes),
  };
  if (units == Units::kib) out.columns.push_back(count_column({"Bytes", means::kVariableBytes}, bytes));
  const auto share = [=](int row) { return static_cast<double>(bytes(row)) / static_cast<double>(largest); };
  out.columns.push_back(
      {.title = {"Beside the largest", means::kVariableShare}, .exact = share, .memory = category, .share = share});
  out.source = [=](int row) { return static_cast<int>(at(row)); };
  return out;
}

}  // namespace superstep::gui
