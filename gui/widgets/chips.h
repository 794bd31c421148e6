// SPDX-License-Identifier: Apache-2.0
// Small things of the window's frame: what the report is about, as chips; a label that is cut, not
// grown; the background of the view list.
#pragma once

#include <QLabel>
#include <QWidget>

#include "gui/models/report_tables.h"
#include "gui/session/explain.h"

namespace superstep::gui {

// Job and machine, plan, fit.
class Chips : public QWidget {
  Q_OBJECT
 public:
  explicit Chips(QWidget* parent = nullptr);
  void setReport(ReportPointer report);
  ExplainedCell explainedAt(const QPoint& at) const;  // nothing: no chip is there

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Chip {
    QRectF rect;
    ExplainedCell is;
  };
  std::vector<Chip> chips() const;

  ReportPointer report_;
};

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  using QLabel::QLabel;
  QSize minimumSizeHint() const override { return {60, QLabel::minimumSizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

class SideBar : public QWidget {
  Q_OBJECT
 public:
  explicit SideBar(QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace superstep::gui
