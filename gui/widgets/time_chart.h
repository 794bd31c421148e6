// SPDX-License-Identifier: Apache-2.0
// What pipeline and trace share: a window on the step that keys, wheel and dragging move. W and S zoom, A and D pan,
// Ctrl+wheel zooms at the cursor, wheel pans, F shows everything, "." and "," go from box to box, "[" and "]" from
// part to part.
#pragma once

#include <QWidget>

#include "gui/models/pipeline_tables.h"
#include "gui/paint/time_axis.h"
#include "gui/session/session.h"

namespace superstep::gui {

class TimeChart : public QWidget {
  Q_OBJECT
 public:
  explicit TimeChart(Session& session, QWidget* parent = nullptr);

  virtual TimeAxis axisNow() const = 0;

 public slots:
  void showEverything() { setWindow({}); }

 signals:
  void windowChanged();

 protected:
  virtual TimeWindow window() const = 0;
  virtual void setWindow(const TimeWindow& window) = 0;
  virtual void pressed(const QPointF& at) = 0;  // a click, not a drag
  virtual void pointed(const QPointF& at) = 0;  // the cursor moved; outside: negative
  virtual void step(int direction) = 0;
  virtual void part(int direction) = 0;
  QRectF visiblePart() const;  // of the widget, in a page that scrolls
  void zoom(double factor, double x);
  void reveal(std::int64_t from, std::int64_t to);  // pans, or zooms out, until the stretch is seen

  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

  Session& session_;

 private:
  QPointF pressedAt_;
  TimeWindow pressedWindow_;
  bool panning_ = false;
};

}  // namespace superstep::gui
