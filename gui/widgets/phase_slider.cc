// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/phase_slider.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/paint/axis.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kSliderLeft = 84, kSliderRight = 16, kHeads = 16, kStrip = 20, kSliderAxis = 22;

std::string kind_of_pass(const std::string& pass) { return pass == "backward" ? "compute" : pass; }

}  // namespace

PhaseSlider::PhaseSlider(QWidget* parent) : QWidget(parent) {
  setObjectName("phaseSlider");
  setAccessibleName(tr("Phases over time, with the cursor"));
  setFocusPolicy(Qt::StrongFocus);
}

void PhaseSlider::setPhases(GraphShown shown) {
  shown_ = std::move(shown);
  cursor_ = 0;
  lanes_.clear();
  if (!isEmpty() && shown_.phases->calls) {
    const int classes = std::min(16, shown_.report->index().ipu_classes_size());
    for (int i = 0; i < classes; ++i) lanes_.push_back({shown_.ipuName(i), {}, i, &PhaseRow::cycles});
  } else {
    lanes_ = {{tr("computing"), "compute", -1, &PhaseRow::compute_cycles},
              {tr("loading"), "load", -1, &PhaseRow::load_cycles},
              {tr("storing"), "store", -1, &PhaseRow::store_cycles}};
  }
  update();
}

void PhaseSlider::setCursor(std::int64_t cycle) {
  cursor_ = isEmpty() ? 0 : std::clamp<std::int64_t>(cycle, 0, shown_.phases->total());
  update();
}

QRectF PhaseSlider::plot() const {
  return {kSliderLeft, kHeads, std::max(20.0, width() - kSliderLeft - kSliderRight),
          std::max(40.0, height() - kHeads - kSliderAxis)};
}

double PhaseSlider::xOf(std::int64_t cycle) const {
  const auto all = static_cast<double>(isEmpty() ? 1 : std::max<std::int64_t>(1, shown_.phases->total()));
  return plot().left() + static_cast<double>(cycle) / all * plot().width();
}

std::int64_t PhaseSlider::cycleAt(double x) const {
  const double share = std::clamp((x - plot().left()) / plot().width(), 0.0, 1.0);
  // The last cycle belongs to the last phase.
  return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(shown_.phases->total())), 0,
                                  std::max<std::int64_t>(0, shown_.phases->total() - 1));
}

QRectF PhaseSlider::phaseRect(int phase) const {
  const GraphPhase& p = shown_.phases->list[static_cast<std::size_t>(phase)];
  const double left = xOf(p.begin);
  return {left, plot().top(), xOf(p.end()) - left, kStrip};
}

QRectF PhaseSlider::laneRect(std::size_t lane) const {
  const double top = plot().top() + kStrip + 6, pitch = (plot().bottom() - top) / static_cast<double>(lanes_.size());
  return {plot().left(), top + static_cast<double>(lane) * pitch, plot().width(), std::max(2.0, pitch - 3)};
}

QString PhaseSlider::tipText(int phase) const {
  const GraphPhase& p = shown_.phases->list[static_cast<std::size_t>(phase)];
  QString tip = "<b>" + QString::fromStdString(p.row.name).toHtmlEscaped() + "</b>";
  if (!p.row.contents.empty()) tip += "<br>" + QString::fromStdString(p.row.contents).toHtmlEscaped();
  tip += tr("<br>%1 ms, %2 cycles").arg(fixed_decimals(shown_.ms(p.row.cycles), 2), grouped(p.row.cycles));
  if (shown_.phases->calls) return tip;
  return tip + tr("<br>computing %1, loading %2, storing %3 cycles")
                   .arg(grouped(p.row.compute_cycles), grouped(p.row.load_cycles), grouped(p.row.store_cycles));
}

void PhaseSlider::paintStrip(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const int now = shown_.phases->at(cursor_);
  const int count = static_cast<int>(shown_.phases->list.size());
  painter.setFont(ui_font(11));
  for (int i = 0; i < count; ++i) {
    const GraphPhase& phase = shown_.phases->list[static_cast<std::size_t>(i)];
    const QRectF rect = phaseRect(i);
    Fill fill = fill_of_kind(kind_of_pass(phase.pass));
    if (i != now && phase.pass == "backward") fill.color = fill.color.lighter(135);
    fill.outline = QColor();
    draw_fill(painter, rect, fill);
    if (rect.width() >= 4) painter.fillRect(QRectF(rect.left(), rect.top(), 1, rect.height()), theme.panel);
    const QString number = QString::number(phase.number);
    if (phase.number < 0 || shown_.phases->calls || number_width(painter.font(), number) + 4 > rect.width()) continue;
    painter.setPen(QColor(0x1B, 0x21, 0x27));
    draw_number(painter, rect, number, Qt::AlignCenter);
  }
  if (now >= 0) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, 2));
    painter.drawRect(phaseRect(now).adjusted(0, 0, 0, 0));
  }
  // Heads over passes: runs of phases of one pass.
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  const auto pass_of = [&](int i) {
    const std::string& pass = shown_.phases->list[static_cast<std::size_t>(i)].pass;
    return pass == "recompute" ? std::string("backward") : pass;  // they take turns
  };
  for (int i = 0; i < count;) {
    int end = i;
    while (end < count && pass_of(end) == pass_of(i)) ++end;
    const QRectF all(xOf(shown_.phases->list[static_cast<std::size_t>(i)].begin), 0,
                     xOf(shown_.phases->list[static_cast<std::size_t>(end - 1)].end()) -
                         xOf(shown_.phases->list[static_cast<std::size_t>(i)].begin),
                     kHeads);
    QString head = QString::fromStdString(pass_of(i));
    if (shown_.phases->calls && head == "backward") head = tr("recompute, backward");
    if (text_width(painter.font(), head) <= all.width()) draw_text(painter, all, head, Qt::AlignCenter);
    i = end;
  }
}

void PhaseSlider::paintLane(QPainter& painter, std::size_t index) const {
  const Theme& theme = theme_of(this);
  const Lane& lane = lanes_[index];
  const QRectF rect = laneRect(index);
  painter.fillRect(rect, theme.track);
  Fill fill = lane.kind.isEmpty() ? Fill{ipu_color(theme, lane.ipu_class)} : fill_of_kind(lane.kind.toStdString());
  fill.outline = QColor();
  for (const GraphPhase& phase : shown_.phases->list) {
    if (lane.ipu_class >= 0 && (phase.works.empty() || phase.works.front().ipu_class != lane.ipu_class)) continue;
    const double left = xOf(phase.begin), width = xOf(phase.end()) - left;
    const auto takes = static_cast<double>(std::max<std::int64_t>(1, phase.row.cycles));
    const double share = std::clamp(static_cast<double>(phase.row.*lane.work) / takes, 0.0, 1.0);
    const double height = share * rect.height();
    draw_fill(painter, QRectF(left, rect.bottom() - height, width, height), fill);
    if (width >= 4) painter.fillRect(QRectF(left, rect.top(), 1, rect.height()), theme.panel);
  }
  painter.setPen(theme.text);
  painter.setFont(ui_font(std::clamp(rect.height() + 2, 9.0, 11.5)));
  if (rect.height() >= 6) draw_text(painter, QRectF(12, rect.center().y() - 8, kSliderLeft - 18, 16), lane.name);
}

void PhaseSlider::paintAxis(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const LinearScale time{shown_.ms(shown_.phases->total()), plot().left(), plot().right()};
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  draw_text(painter, QRectF(12, plot().bottom() + 5, kSliderLeft - 30, 15), tr("ms"));
  if (!(time.full > 0)) return;
  const auto ticks = nice_ticks(time.full, std::max(2, static_cast<int>(plot().width() / 90)));
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  for (const double tick : ticks) {
    const double x = std::floor(time.at(tick)) + 0.5;
    painter.drawLine(QPointF(x, plot().bottom()), QPointF(x, plot().bottom() + 4));
    draw_number(painter, QRectF(x - 40, plot().bottom() + 5, 80, 15), fixed_decimals(tick, decimals),
                Qt::AlignHCenter | Qt::AlignVCenter);
  }
}

void PhaseSlider::paintCursor(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const double x = std::floor(xOf(cursor_)) + 0.5, top = plot().top() + kStrip + 2;
  painter.setPen(QPen(theme.text, 1));
  painter.drawLine(QPointF(x, top), QPointF(x, plot().bottom()));
  painter.setBrush(theme.text);
  painter.drawPolygon(QPolygonF({QPointF(x, top), QPointF(x - 5, top + 7), QPointF(x + 5, top + 7)}));
}

void PhaseSlider::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(), tr("Nothing of the model graph runs in this report."));
    return;
  }
  painter.setPen(theme.text);
  painter.setFont(ui_font(11.5));
  draw_text(painter, QRectF(12, plot().top(), kSliderLeft - 18, kStrip),
            shown_.phases->calls ? tr("call") : tr("phase"));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) paintLane(painter, lane);
  paintStrip(painter);
  paintAxis(painter);
  paintCursor(painter);
}

void PhaseSlider::mousePressEvent(QMouseEvent* event) { mouseMoveEvent(event); }

void PhaseSlider::mouseMoveEvent(QMouseEvent* event) {
  if (isEmpty() || !event->buttons().testFlag(Qt::LeftButton)) return;
  setCursor(cycleAt(event->position().x()));
  emit cursorMoved(cursor_);
}

void PhaseSlider::keyPressEvent(QKeyEvent* event) {
  switch (isEmpty() ? 0 : event->key()) {
    case Qt::Key_Right:
      return emit phaseStepped(1);
    case Qt::Key_Left:
      return emit phaseStepped(-1);
    case Qt::Key_Home:
      return emit phaseStepped(-static_cast<int>(shown_.phases->list.size()));
    case Qt::Key_End:
      return emit phaseStepped(static_cast<int>(shown_.phases->list.size()));
    default:
      QWidget::keyPressEvent(event);
  }
}

bool PhaseSlider::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), tipText(shown_.phases->at(cycleAt(help->pos().x()))), this);
  return true;
}

}  // namespace superstep::gui
