// SPDX-License-Identifier: Apache-2.0
// Memory by category, one standing column per IPU class, with the limit and what is always live.
#pragma once

#include <QWidget>

#include "gui/models/report_tables.h"
#include "gui/paint/stack_layout.h"

namespace superstep::gui {

class MemoryColumns : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryColumns(QWidget* parent = nullptr);

  void setReport(ReportPointer report, Units units);
  void setSelected(int ipu_class, const QString& category);
  QSize minimumSizeHint() const override { return {300, 180}; }
  ColumnLayout layoutNow() const;
  QString categoryAt(const QPointF& at) const;  // empty: outside of the stacks

 signals:
  void clicked(int ipu_class, const QString& category);  // category empty: outside of the stack

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int classes() const { return report_ ? report_->index().ipu_classes_size() : 0; }
  std::int64_t limit() const;
  void paintAxis(QPainter& painter, const ColumnLayout& layout) const;
  void paintColumn(QPainter& painter, const ColumnLayout& layout, int column) const;
  void paintMarks(QPainter& painter, const ColumnLayout& layout, int column, const MemoryStack& stack) const;

  ReportPointer report_;
  Units units_ = Units::kib;
  int selectedClass_ = -1;
  QString selectedCategory_;
};

}  // namespace superstep::gui
