// SPDX-License-Identifier: Apache-2.0
// A table whose columns are functions of the row: nothing is copied out of the report.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <functional>
#include <vector>

#include "gui/models/meaning.h"

namespace superstep::gui {

// Roles beside Qt's own.
inline constexpr int kExactRole = Qt::UserRole;       // the report's number or text: what sorts and what CSV writes
inline constexpr int kMemoryRole = Qt::UserRole + 1;  // QString: category whose colour stands before the text
inline constexpr int kKindRole = Qt::UserRole + 2;    // QString: kind of time whose colour stands before the text
inline constexpr int kStrongRole = Qt::UserRole + 3;  // bool: a total
inline constexpr int kShareRole = Qt::UserRole + 4;   // double: a bar from 0 to 1 instead of text
inline constexpr int kSourceRole = Qt::UserRole + 5;  // int: the row's place in the report, -1 for totals
inline constexpr int kBetterRole =
    Qt::UserRole + 6;  // int: a difference, 1 for the better, -1 for the worse, 0 neither

// A piece of a lane from 0 to 1, and a mark on the lane; below 0: none.
struct Span {
  double from = 0, to = 0, mark = -1;
};
inline constexpr int kSpanRole = Qt::UserRole + 7;  // Span: a lane instead of text

// Explanation of a cell; of a column where headerData() is asked. The unit is that of the exact value.
inline constexpr int kExplanationRole = Qt::UserRole + 8;
// QString, of headerData(): the title with the unit of the exact values, for CSV and copied rows.
inline constexpr int kExactTitleRole = Qt::UserRole + 9;

// bool: a text that is too long loses its middle, as that of plans, whose ends tell them apart.
inline constexpr int kBothEndsRole = Qt::UserRole + 10;

struct TableColumn {
  ColumnTitle title;
  bool numeric = false;
  std::function<QString(int)> text = {};
  std::function<QVariant(int)> exact = {};  // absent: the text
  std::function<QString(int)> memory = {};  // kMemoryRole
  std::function<QString(int)> kind = {};    // kKindRole
  std::function<double(int)> share = {};    // kShareRole
  std::function<int(int)> better = {};      // kBetterRole
  std::function<Span(int)> span = {};       // kSpanRole
  // What a row adds to the column's explanation: its parts, or that it is another quantity.
  std::function<void(int, Explanation&)> more = {};
  bool both_ends = false;  // kBothEndsRole
};

struct TableContents {
  std::vector<TableColumn> columns;
  int rows = 0;
  std::function<bool(int)> strong = {};
  std::function<int(int)> source = {};  // absent: the row itself
  std::function<QString(int)> tip = {};
};

// "Live, KiB" of exact bytes is "Live, bytes".
QString exact_title(const ColumnTitle& title);
// Of a column of any model.
QString exact_heading(const QAbstractItemModel& model, int column);

class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setContents(TableContents contents);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  TableContents contents_;
};

// Sorts by the exact values and keeps rows in which any column contains the filter text.
class SortedModel : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit SortedModel(QAbstractItemModel* source, QObject* parent = nullptr);
};

}  // namespace superstep::gui

Q_DECLARE_METATYPE(superstep::gui::Span)
