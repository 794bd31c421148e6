// SPDX-License-Identifier: Apache-2.0
// What tables that people work in have beside the table: which columns and rows are shown, and all of it as text.
#pragma once

#include <QString>

class QLineEdit;
class QSortFilterProxyModel;
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
// The field says how many rows of all are left, while there is a text in it. After set_filter() of the same rows.
void count_rows(QLineEdit* field, QSortFilterProxyModel* rows);
// Rows that have the text, or match it as a regular expression, whatever the case.
void set_filter(QSortFilterProxyModel& rows, const QString& text);
QString shown_text(const QTableView& table);

}  // namespace superstep::gui
