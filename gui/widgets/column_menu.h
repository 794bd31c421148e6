// SPDX-License-Identifier: Apache-2.0
// What tables that people work in have beside the table: which columns are shown, and all of it as text.
#pragma once

#include <QString>

class QTableView;
class QToolButton;

namespace superstep::gui {

class DataTable;

// A button with a menu of the columns, each to tick. The first stays.
QToolButton* column_button(DataTable* table);
// A button that copies the rows and columns shown, tabs between cells, with the exact values.
QToolButton* copy_button(DataTable* table);
QString shown_text(const QTableView& table);

}  // namespace superstep::gui
