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

}  // namespace superstep::gui
