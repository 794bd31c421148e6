// SPDX-License-Identifier: Apache-2.0
// What tables that people work in have beside the table: which columns and rows are shown, and all of it as text.
#pragma once

#include <QString>

class QLineEdit;
class QTableView;
class QToolButton;
class QWidget;

namespace superstep::gui {

class DataTable;

// A button with a menu of the columns, each to tick. The first stays.
QToolButton* column_button(DataTable* table);
// A button that copies the rows and columns shown, tabs between cells, with the exact values.
QToolButton* copy_button(DataTable* table);
// A field to search or filter by, which "/" goes to from anywhere in `view`.
QLineEdit* filter_field(const QString& object, const QString& accessible, const QString& hint, QWidget* view);
QString shown_text(const QTableView& table);

}  // namespace superstep::gui
