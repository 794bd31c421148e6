// SPDX-License-Identifier: Apache-2.0
// The waterfalls of several reports on one scale, and their differences around a zero line. Texts come from the
// table of terms, so that picture and table say the same. Up and Down move the selected term.
#pragma once

#include <QWidget>

#include "gui/models/compare_tables.h"
#include "gui/paint/compare_layout.h"

namespace superstep::gui {

class CompareChart : public QWidget {
  Q_OBJECT
 public:
  // `model` holds terms_comparison() contents and outlives the chart.
  explicit CompareChart(const TableModel& model, QWidget* parent = nullptr);

  void setComparison(ComparedPointer compared, bool percent);
  void setSelectedTerm(const QString& term);
  CompareLayout layoutNow() const;
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;
  QString tipText(int row) const;

 signals:
  void termClicked(const QString& term);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QString cell(int row, int column) const { return model_.index(row, column).data().toString(); }
  bool isTotal(int row) const { return row + 1 == model_.rowCount(); }
  int differenceColumn(int target) const;
  void paintHeads(QPainter& painter, const CompareLayout& layout) const;
  void paintRow(QPainter& painter, const CompareLayout& layout, int row) const;

  const TableModel& model_;
  ComparedPointer compared_;
  TermColumns columns_;
  bool percent_ = false;
  QString selectedTerm_;
};

}  // namespace superstep::gui
