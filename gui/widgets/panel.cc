// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/panel.h"

#include <QPainter>
#include <QScrollArea>
#include <QStackedLayout>
#include <QToolButton>

#include "gui/base/theme.h"
#include "gui/paint/draw.h"

namespace superstep::gui {

Panel::Panel(const QString& title, QWidget* parent) : QWidget(parent), title_(title), pages_(new QStackedLayout) {
  pages_->setContentsMargins(0, 0, 0, 0);
  setLayout(pages_);
  setContentsMargins(1, kTitleHeight + 1, 1, 1);
}

void Panel::setTitle(const QString& title) { setHead(title_, title); }
void Panel::setSubtitle(const QString& text) { setHead(subtitle_, text); }
void Panel::setNote(const QString& text) { setHead(note_, text); }

void Panel::setHead(QString& part, const QString& text) {
  if (part == text) return;
  part = text;
  update(0, 0, width(), kTitleHeight);
}

void Panel::add(QWidget* page) { pages_->addWidget(page); }

void Panel::setContent(QWidget* content) { add(content); }

void Panel::setScrollingContent(QWidget* content, bool across) {
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  if (!across) scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->viewport()->setAutoFillBackground(false);
  scroll->setWidget(content);
  content->setAutoFillBackground(false);
  add(scroll);
}

void Panel::setTable(QWidget* table) {
  add(table);
  auto* button = new QToolButton;
  tableButton_ = button;
  setCorner(button);
  tableButton_->setObjectName("tableTwin");
  tableButton_->setAccessibleName(tr("Show %1 as a table").arg(title_));
  tableButton_->setToolTip(tr("Show the numbers as a table"));
  tableButton_->setText(tr("Table"));
  tableButton_->setFont(ui_font(11));
  tableButton_->setStyleSheet("QToolButton { min-height: 16px; padding: 0 7px; }");
  tableButton_->setCheckable(true);
  connect(button, &QToolButton::toggled, this, [this](bool on) {
    emit tableToggled(on);
    pages_->setCurrentIndex(on ? 1 : 0);
  });
}

void Panel::setCorner(QWidget* corner) {
  corner_ = corner;
  corner->setParent(this);
}

bool Panel::showsTable() const { return pages_->currentIndex() == 1; }

void Panel::showTable(bool shown) {
  if (tableButton_) tableButton_->setChecked(shown);
}

void Panel::resizeEvent(QResizeEvent*) {
  if (!corner_) return;
  const QSize size = corner_->sizeHint().expandedTo(corner_->minimumSize());
  corner_->setGeometry(width() - size.width() - 8, (kTitleHeight - size.height()) / 2 + 1, size.width(), size.height());
}

void Panel::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painter.fillRect(QRect(0, 0, width(), kTitleHeight), theme.title_row);
  painter.setPen(theme.frame);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.drawLine(0, kTitleHeight, width() - 1, kTitleHeight);

  double right = width() - 12;
  if (corner_) right = corner_->x() - 10;
  painter.setPen(theme.text);
  painter.setFont(ui_font(12, QFont::DemiBold));
  const double title = std::min(text_width(painter.font(), title_) + 1, right - 12);
  draw_text(painter, QRectF(12, 0, title, kTitleHeight), title_);
  double left = 12 + title + 12;
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(11));
  const double note = text_width(painter.font(), note_);
  const double subtitle = text_width(painter.font(), subtitle_);
  // The subtitle gives way to the note where both do not fit.
  if (!note_.isEmpty() && left + note < right) {
    draw_text(painter, QRectF(right - note - 1, 0, note + 1, kTitleHeight), note_, Qt::AlignRight | Qt::AlignVCenter);
    right -= note + 12;
  }
  if (left + std::min(subtitle, 60.0) < right)
    draw_text(painter, QRectF(left, 0, right - left, kTitleHeight), subtitle_);
}

}  // namespace superstep::gui
