// SPDX-License-Identifier: Apache-2.0
#include "gui/models/table_columns.h"

#include <cmath>

namespace superstep::gui {

QString text(const std::string& s) { return QString::fromStdString(s); }

QVariant exact(std::int64_t value) { return QVariant::fromValue(static_cast<qlonglong>(value)); }

TableColumn count_column(const ColumnTitle& title, std::function<std::int64_t(int)> value) {
  return {title, true, [value](int row) { return grouped(value(row)); },
          [value](int row) { return exact(value(row)); }};
}

TableColumn bytes_column(const ColumnTitle& title, Units units, std::function<std::int64_t(int)> value) {
  return {title, true, [value, units](int row) { return tile_bytes(value(row), units); },
          [value](int row) { return exact(value(row)); }};
}

TableColumn error_column(const ColumnTitle& title, std::function<double(int)> error) {
  return {title, true,
          [error](int row) { return error(row) < 0 ? QString() : error_percent(std::llround(error(row) * 1e6)); },
          [error](int row) { return error(row) < 0 ? QVariant() : QVariant(error(row) * 100); }};
}

void add_reported(Explanation& to, const report::Index& index, const std::string& name) {
  for (const report::Explanation& known : index.explanations()) {
    if (known.name() != name) continue;
    to.how = text(known.formula());
    for (const auto& term : known.terms())
      to.parts.push_back({text(term.name()), for_viewer(term.value()), text(term.source())});
  }
}

}  // namespace superstep::gui
