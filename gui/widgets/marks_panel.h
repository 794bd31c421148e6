// SPDX-License-Identifier: Apache-2.0
// The marks of the current report, and the field for a new one.
#pragma once

#include <QWidget>

#include "gui/models/table_model.h"

class QLabel;
class QLineEdit;

namespace superstep::gui {

class DataTable;

class MarksPanel : public QWidget {
  Q_OBJECT
 public:
  // `model` holds marks_table() contents and outlives the panel.
  explicit MarksPanel(TableModel& model, QWidget* parent = nullptr);

  void setPlace(const QString& place);  // what a new mark is put on; empty: nothing is selected
  QLineEdit* field() const { return field_; }
  QSize sizeHint() const override { return {380, 240}; }

 signals:
  void added(const QString& note);
  void wanted(int mark);
  void removed(int mark);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLabel* place_;
  QLineEdit* field_;
  DataTable* table_;
};

}  // namespace superstep::gui
