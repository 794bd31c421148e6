// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/chips.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <cmath>
#include <tuple>

#include "gui/base/theme.h"
#include "gui/models/meanings.h"
#include "gui/paint/draw.h"
#include "traces/verdict.h"

namespace superstep::gui {

Chips::Chips(QWidget* parent) : QWidget(parent) {
  setObjectName("chips");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFixedHeight(26);
}

void Chips::setReport(ReportPointer report) {
  report_ = std::move(report);
  QStringList texts;
  for (const Chip& chip : chips()) texts << chip.is.exact;
  setAccessibleName(texts.join(", "));
  update();
}

// From left to right, as many as there is room for; the fit always.
std::vector<Chips::Chip> Chips::chips() const {
  if (!report_) return {};
  const report::Index& index = report_->index();
  const Fit fit = fit_of(index);
  const double fit_width = fit == Fit::unknown ? 0 : chip_width(fit);
  std::vector<Chip> out;
  double x = 4;
  const auto texts = {std::tuple(&index.title(), tr("Report"), means::kReportTitle),
                      {&index.plan().label(), tr("Plan"), means::kPlan}};
  for (const auto& [title, name, meaning] : texts) {
    if (title->empty()) continue;
    const QString text = QString::fromStdString(*title);
    const double room = width() - x - fit_width - 16;
    const double chip = std::min(std::ceil(text_width(ui_font(11, QFont::Medium), text)) + 16, room);
    if (chip < 50) break;
    out.push_back({QRectF(x, 4, chip, 18), {{}, name, text, text, explanation_of(meaning)}});
    x += chip + 8;
  }
  if (fit != Fit::unknown) {
    const QString text = QString::fromStdString(verdict_sentence(index));
    out.push_back({QRectF(x, 4, fit_width, 18),
                   {{}, tr("Fit"), fit_words(fit), for_viewer(text.toStdString()), explanation_of(means::kFit)}});
  }
  return out;
}

ExplainedCell Chips::explainedAt(const QPoint& at) const {
  for (const Chip& chip : chips()) {
    if (chip.rect.contains(at)) return chip.is;
  }
  return {};
}

bool Chips::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), short_explanation({{}, explainedAt(help->pos())}), this);
  return true;
}

void Chips::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(ui_font(11, QFont::Medium));
  for (const Chip& chip : chips()) {
    if (chip.is.row == tr("Fit")) {
      draw_chip(painter, chip.rect.topLeft(), theme, fit_of(report_->index()));
      continue;
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(text_ground(theme));
    painter.drawRoundedRect(chip.rect, 3, 3);
    painter.setPen(theme.secondary);
    draw_text(painter, chip.rect.adjusted(8, 0, -8, 0), chip.is.exact);
  }
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
