// SPDX-License-Identifier: Apache-2.0
// One row of the batch page in full: what it is, what it says, the command that does the same; of a sweep its items.
#pragma once

#include <QWidget>

#include "gui/base/format.h"
#include "gui/batch/item.h"
#include "gui/models/table_model.h"

class QPlainTextEdit;

namespace superstep::gui {

class DataTable;

class BatchDetails : public QWidget {
  Q_OBJECT
 public:
  explicit BatchDetails(QWidget* parent = nullptr);

  void show(const BatchItem* item, const QString& command, Units units);  // null: none is selected
  QString text() const;
  const TableModel& rows() const { return rows_; }

 signals:
  void itemWanted(int item);  // of the sweep that is shown

 private:
  QPlainTextEdit* text_;
  TableModel rows_;
  SortedModel sorted_{&rows_};
  DataTable* table_;
  std::shared_ptr<const std::vector<BatchResult>> shown_;
  std::size_t shownRows_ = 0;
  Units units_ = Units::kib;
};

}  // namespace superstep::gui
