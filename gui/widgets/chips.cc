// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/chips.h"

#include <QPainter>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/theme.h"
#include "traces/verdict.h"

namespace superstep::gui {

Chips::Chips(QWidget* parent) : QWidget(parent) {
  setObjectName("chips");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFixedHeight(26);
}

void Chips::setReport(ReportPointer report) {
  report_ = std::move(report);
  QString tip;
  if (report_) tip = QString::fromStdString(report_->index().title() + "\n" + report_->index().plan().label());
  setToolTip(tip);
  update();
}

void Chips::paintEvent(QPaintEvent*) {
  if (!report_) return;
  const Theme& theme = theme_of(this);
  const report::Index& index = report_->index();
  QPainter painter(this);
  const Fit fit = fit_of(index);
  const double fit_width = fit == Fit::unknown ? 0 : chip_width(fit);
  double x = 4;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(ui_font(11, QFont::Medium));
  for (const std::string& text : {index.title(), index.plan().label()}) {
    if (text.empty()) continue;
    const double room = width() - x - fit_width - 16;
    const double chip = std::min(std::ceil(text_width(painter.font(), QString::fromStdString(text))) + 16, room);
    if (chip < 50) break;
    painter.setPen(Qt::NoPen);
    painter.setBrush(text_ground(theme));
    painter.drawRoundedRect(QRectF(x, 4, chip, 18), 3, 3);
    painter.setPen(theme.secondary);
    draw_text(painter, QRectF(x + 8, 4, chip - 16, 18), QString::fromStdString(text));
    x += chip + 8;
  }
  if (fit != Fit::unknown) draw_chip(painter, QPointF(x, 4), theme, fit);
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(theme_of(this).secondary);
  painter.setFont(font());
  draw_text(painter, contentsRect(), text());
}

SideBar::SideBar(QWidget* parent) : QWidget(parent) { setFixedWidth(156); }

void SideBar::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.bars);
  painter.setPen(theme.frame);
  painter.drawLine(width() - 1, 0, width() - 1, height());
}

}  // namespace superstep::gui
