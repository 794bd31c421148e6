// SPDX-License-Identifier: Apache-2.0
// The phases of a step as wide as their time, over lanes that say when each works, and the cursor on them.
#pragma once

#include <QWidget>

#include "gui/models/graph_tables.h"

namespace superstep::gui {

class PhaseSlider : public QWidget {
  Q_OBJECT
 public:
  explicit PhaseSlider(QWidget* parent = nullptr);

  void setPhases(GraphShown shown);
  void setCursor(std::int64_t cycle);
  std::int64_t cursor() const { return cursor_; }
  QRectF phaseRect(int phase) const;  // of the strip
  double xOf(std::int64_t cycle) const;
  std::int64_t cycleAt(double x) const;
  QString tipText(int phase) const;
  QSize minimumSizeHint() const override { return {300, 118}; }

 signals:
  void cursorMoved(std::int64_t cycle);  // while dragging
  void phaseStepped(int by);             // by a key

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Lane {
    QString name;
    QString kind;        // of time; empty: the colour of `ipu_class`
    int ipu_class = -1;  // a call's
    std::int64_t PhaseRow::*work = nullptr;
  };
  bool isEmpty() const { return !shown_.phases || shown_.phases->list.empty(); }
  QRectF plot() const;
  QRectF laneRect(std::size_t lane) const;
  void paintStrip(QPainter& painter) const;
  void paintLane(QPainter& painter, std::size_t lane) const;
  void paintAxis(QPainter& painter) const;
  void paintCursor(QPainter& painter) const;

  GraphShown shown_;
  std::vector<Lane> lanes_;
  std::int64_t cursor_ = 0;
};

}  // namespace superstep::gui
