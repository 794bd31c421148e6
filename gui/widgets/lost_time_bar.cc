// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/lost_time_bar.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/paint/draw.h"
#include "gui/paint/pipeline_layout.h"

namespace superstep::gui {
namespace {

constexpr double kLostTimeTop = 3;
constexpr double kHeight = 18;

double all_cycles(const Timeline& timeline) {
  return static_cast<double>(timeline.cycles) * static_cast<double>(ipu_lanes(timeline));
}

}  // namespace

LostTimeBar::LostTimeBar(QWidget* parent) : QWidget(parent) {
  setObjectName("lostTime");
  setAccessibleName(tr("Lost time charged to its causes"));
  setFixedHeight(26);
  setMouseTracking(true);
  setFocusPolicy(Qt::TabFocus);
}

void LostTimeBar::setTimeline(const TimelinePointer& timeline) {
  timeline_ = timeline;
  causes_ = lost_time(*timeline);
  hover_ = chosen_ = -1;
  setVisible(!causes_.empty());
  update();
}

QString LostTimeBar::textOf(const LostTime& lost) const {
  QString text = QString::fromLatin1(name_of(lost.work).data());
  if (lost.work == Work::imbalance && ipu_lanes(*timeline_) > 1) {
    const int ipu = timeline_->lanes[static_cast<std::size_t>(lost.worst_lane)].ipu_class;
    text += ", " + tr("most on %1").arg(QString::fromStdString(timeline_->report->index().ipu_classes(ipu).name()));
  }
  return text + ' ' + share_percent(static_cast<double>(lost.cycles), all_cycles(*timeline_)) + " %";
}

QRectF LostTimeBar::segment(std::size_t i) const {
  double sum = 0, before = 0;
  for (std::size_t k = 0; k < causes_.size(); ++k) {
    if (k < i) before += static_cast<double>(causes_[k].cycles);
    sum += static_cast<double>(causes_[k].cycles);
  }
  const double plot = width() - PipelineLayout::kLeft - PipelineLayout::kRight;
  const double left = PipelineLayout::kLeft + before / sum * plot;
  return {left, kLostTimeTop, static_cast<double>(causes_[i].cycles) / sum * plot, kHeight};
}

int LostTimeBar::causeAt(const QPointF& at) const {
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    if (segment(i).contains(at)) return static_cast<int>(i);
  }
  return -1;
}

void LostTimeBar::choose(int cause) {
  chosen_ = cause == chosen_ ? -1 : cause;
  update();
  emit chosen(chosen_ < 0 ? std::nullopt : std::optional(causes_[static_cast<std::size_t>(chosen_)].work));
}

void LostTimeBar::mousePressEvent(QMouseEvent* event) {
  if (const int cause = causeAt(event->position()); cause >= 0) choose(cause);
}

void LostTimeBar::mouseMoveEvent(QMouseEvent* event) {
  const int cause = causeAt(event->position());
  if (cause == hover_) return;
  hover_ = cause;
  if (cause >= 0) {
    const LostTime& lost = causes_[static_cast<std::size_t>(cause)];
    setToolTip(textOf(lost) + '\n' + tr("of all IPUs: ") + both_texts(*timeline_, lost.cycles));
  } else {
    setToolTip({});
  }
}

void LostTimeBar::leaveEvent(QEvent*) { hover_ = -1; }

void LostTimeBar::keyPressEvent(QKeyEvent* event) {
  const int n = static_cast<int>(causes_.size());
  if (event->key() == Qt::Key_Right && n > 0) return choose((chosen_ + 1) % n);
  if (event->key() == Qt::Key_Left && n > 0) return choose((std::max(chosen_, 0) + n - 1) % n);
  QWidget::keyPressEvent(event);
}

void LostTimeBar::paintEvent(QPaintEvent*) {
  if (causes_.empty()) return;
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painter.setFont(ui_font(11.5, QFont::DemiBold));
  painter.setPen(hasFocus() ? theme.accent : theme.text);
  draw_text(painter, QRectF(12, kLostTimeTop, PipelineLayout::kLeft - 16, kHeight), tr("Lost time"));
  painter.setFont(ui_font(10.5));
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const QRectF box = segment(i);
    const Fill fill = fill_of_kind(std::string(kind_text(causes_[i].work)));
    draw_fill(painter, box, fill);
    QString text = textOf(causes_[i]);
    double need = text_width(painter.font(), text) + 8;
    if (need > box.width()) {
      text = share_percent(static_cast<double>(causes_[i].cycles), all_cycles(*timeline_)) + " %";
      need = text_width(painter.font(), text) + 8;
    }
    if (need <= box.width()) {
      const QRectF label(box.center().x() - need / 2, box.top() + 2, need, box.height() - 4);
      const bool hatched = fill.hatch != Hatch::none;
      if (hatched) painter.fillRect(label, fill.color);
      painter.setPen(fill.color.lightness() < 120 ? QColor(Qt::white) : QColor(0x1B, 0x21, 0x27));
      draw_text(painter, label, text, Qt::AlignCenter);
    }
    if (static_cast<int>(i) == chosen_) draw_selection(painter, box);
  }
}

}  // namespace superstep::gui
