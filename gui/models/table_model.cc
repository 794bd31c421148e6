// SPDX-License-Identifier: Apache-2.0
#include "gui/models/table_model.h"

namespace superstep::gui {

Explanation explanation_of(const Meaning& meaning) {
  return {QString::fromUtf8(meaning.what),
          QString::fromUtf8(meaning.unit),
          QString::fromUtf8(meaning.how),
          QString::fromUtf8(meaning.where),
          {}};
}

QString exact_title(const ColumnTitle& title) {
  if (QString(title.meaning.unit) != "bytes" || title.text.contains("bytes", Qt::CaseInsensitive)) return title.text;
  if (title.text.contains("KiB")) return QString(title.text).replace("KiB", "bytes");
  return title.text.isEmpty() ? title.text : title.text + ", bytes";
}

QString exact_heading(const QAbstractItemModel& model, int column) {
  const QVariant exact = model.headerData(column, Qt::Horizontal, kExactTitleRole);
  return (exact.isValid() ? exact : model.headerData(column, Qt::Horizontal)).toString();
}

void TableModel::setContents(TableContents contents) {
  beginResetModel();
  contents_ = std::move(contents);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : contents_.rows; }

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(contents_.columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const TableColumn& column = contents_.columns[static_cast<std::size_t>(index.column())];
  const int row = index.row();
  switch (role) {
    case Qt::DisplayRole:
      return column.share || column.span ? QString() : column.text(row);
    case Qt::ToolTipRole:
      return contents_.tip ? contents_.tip(row) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
    case kExactRole:
      return column.exact ? column.exact(row) : QVariant(column.text(row));
    case kMemoryRole:
      return column.memory ? column.memory(row) : QVariant();
    case kKindRole:
      return column.kind ? column.kind(row) : QVariant();
    case kShareRole:
      return column.share ? column.share(row) : QVariant();
    case kSpanRole:
      return column.span ? QVariant::fromValue(column.span(row)) : QVariant();
    case kBothEndsRole:
      return column.both_ends;
    case kBetterRole:
      return column.better ? column.better(row) : QVariant();
    case kExplanationRole: {
      Explanation explanation = explanation_of(column.title.meaning);
      if (column.more) column.more(row, explanation);
      return QVariant::fromValue(explanation);
    }
    case kStrongRole:
      return contents_.strong && contents_.strong(row);
    case kSourceRole:
      return contents_.source ? contents_.source(row) : row;
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const TableColumn& column = contents_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title.text;
  if (role == kExactTitleRole) return exact_title(column.title);
  if (role == kExplanationRole) return QVariant::fromValue(explanation_of(column.title.meaning));
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
  }
  return {};
}

SortedModel::SortedModel(QAbstractItemModel* source, QObject* parent) : QSortFilterProxyModel(parent) {
  setSourceModel(source);
  setSortRole(kExactRole);
  setFilterKeyColumn(-1);
  setFilterCaseSensitivity(Qt::CaseInsensitive);
}

}  // namespace superstep::gui
