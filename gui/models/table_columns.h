// SPDX-License-Identifier: Apache-2.0
// What the tables' columns are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gui/base/format.h"
#include "gui/models/table_model.h"
#include "traces/report_io.h"

namespace superstep::gui {

QString text(const std::string& s);
QVariant exact(std::int64_t value);

// Whole numbers, in groups of three digits.
TableColumn count_column(const ColumnTitle& title, std::function<std::int64_t(int)> value);
TableColumn bytes_column(const ColumnTitle& title, Units units, std::function<std::int64_t(int)> value);
// Shares of 1 as percent, either side; below 0: not known, and blank.
TableColumn error_column(const ColumnTitle& title, std::function<double(int)> error);

// What the report itself says of a number: its formula and terms, under a name of `superstep explain`.
void add_reported(Explanation& to, const report::Index& index, const std::string& name);

}  // namespace superstep::gui
