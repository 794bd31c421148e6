// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/time_chart.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace superstep::gui {

namespace {
constexpr double kZoom = 1.25;
constexpr double kPan = 0.1;  // of what is seen
}  // namespace

TimeChart::TimeChart(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
}

QRectF TimeChart::visiblePart() const {
  const QRect seen = visibleRegion().boundingRect();
  return seen.isEmpty() ? QRectF(rect()) : QRectF(seen);
}

void TimeChart::zoom(double factor, double x) {
  const TimeAxis axis = axisNow();
  setWindow(axis.window.zoomed(factor, axis.position_at(std::clamp(x, axis.left, axis.right)), axis.length()));
}

void TimeChart::reveal(std::int64_t from, std::int64_t to) {
  const TimeAxis axis = axisNow();
  const double begin = axis.position_of(from), end = axis.position_of(to);
  if (begin >= axis.window.from && end <= axis.window.to) return;
  const double span = std::max(axis.window.to - axis.window.from, (end - begin) * 1.2);
  const double middle = (begin + end) / 2;
  setWindow(TimeWindow{middle - span / 2, middle + span / 2}.resolved(axis.length()));
}

void TimeChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  pressedAt_ = event->position();
  pressedWindow_ = window();
  panning_ = false;
}

void TimeChart::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons().testFlag(Qt::LeftButton)) {
    const double by = event->position().x() - pressedAt_.x();
    if (!panning_ && std::abs(by) < 4) return;
    panning_ = true;
    const TimeAxis axis = axisNow();
    setWindow(pressedWindow_.moved(-by * axis.per_pixel(), axis.length()));
    return;
  }
  pointed(event->position());
}

void TimeChart::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !panning_) pressed(event->position());
  panning_ = false;
}

void TimeChart::mouseDoubleClickEvent(QMouseEvent* event) { zoom(0.25, event->position().x()); }

void TimeChart::leaveEvent(QEvent*) { pointed({-1, -1}); }

void TimeChart::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    zoom(std::pow(kZoom, -delta.y() / 120.0), event->position().x());
  } else if (window().whole() && delta.x() == 0) {
    event->ignore();  // nowhere to pan: the page scrolls
    return;
  } else {
    const TimeAxis axis = axisNow();
    const double notches = (delta.x() != 0 ? delta.x() : delta.y()) / 120.0;
    setWindow(axis.window.moved(-notches * kPan * (axis.window.to - axis.window.from), axis.length()));
  }
  event->accept();
}

void TimeChart::keyPressEvent(QKeyEvent* event) {
  const TimeAxis axis = axisNow();
  const double middle = (axis.left + axis.right) / 2;
  const double by = kPan * (axis.window.to - axis.window.from);
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoom(1 / kZoom, middle);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoom(kZoom, middle);
    case Qt::Key_A:
    case Qt::Key_Left:
      return setWindow(window().moved(-by, axis.length()));
    case Qt::Key_D:
    case Qt::Key_Right:
      return setWindow(window().moved(by, axis.length()));
    case Qt::Key_F:
      return setWindow({});
    case Qt::Key_Period:
      return step(1);
    case Qt::Key_Comma:
      return step(-1);
    case Qt::Key_BracketRight:
      return part(1);
    case Qt::Key_BracketLeft:
      return part(-1);
    default:
      QWidget::keyPressEvent(event);
  }
}

void TimeChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace superstep::gui
