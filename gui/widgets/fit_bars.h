// SPDX-License-Identifier: Apache-2.0
// One lying bar per IPU class: memory by category on its fullest tile, with the limit.
#pragma once

#include <QWidget>

#include "gui/models/report_tables.h"

namespace superstep::gui {

class FitBars : public QWidget {
  Q_OBJECT
 public:
  // `model` holds fit_table() contents and outlives the chart.
  explicit FitBars(const TableModel& model, QWidget* parent = nullptr);

  void setReport(ReportPointer report, Units units);  // after the model has its contents
  void setSelectedClass(int ipu_class);
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;
  int rowAt(double y) const;  // -1: none

 signals:
  void classClicked(int ipu_class);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int rows() const { return model_.rowCount(); }
  double rowHeight() const;
  void paintRow(QPainter& painter, int row, const QRectF& rect, double full) const;

  const TableModel& model_;
  ReportPointer report_;
  Units units_ = Units::kib;
  int selectedClass_ = -1;
};

// "weights  115.0 KiB" per category, for tool tips: HTML.
QString memory_tip(const report::IpuClass& ipu_class, Units units);

}  // namespace superstep::gui
