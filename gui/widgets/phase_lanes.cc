// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/phase_lanes.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/paint/axis.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

struct PhaseLane {
  const char* name;
  const char* kind;  // its colour
  std::int64_t PhaseRow::*work;
};

constexpr std::array<PhaseLane, 3> kLanes{{{"computing", "compute", &PhaseRow::compute_cycles},
                                           {"loading", "load", &PhaseRow::load_cycles},
                                           {"storing", "store", &PhaseRow::store_cycles}}};

constexpr double kLanesLeft = 84, kLanesTop = 20, kLanesBottom = 26;

QString percent_of(std::int64_t part, std::int64_t whole) {
  return share_percent(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace

PhaseLanes::PhaseLanes(QWidget* parent) : QWidget(parent) {
  setObjectName("phaseLanes");
  setAccessibleName(tr("Computing, loading and storing over the phases of a step"));
}

void PhaseLanes::setPhases(ReportPointer report, PhaseRows rows) {
  report_ = std::move(report);
  rows_ = std::move(rows);
  update();
}

PhaseLayout PhaseLanes::layoutNow() const {
  PhaseLayout out;
  out.plot = QRectF(kLanesLeft, kLanesTop, std::max(20.0, width() - kLanesLeft - 16),
                    std::max(30.0, height() - kLanesTop - kLanesBottom));
  out.lanes = static_cast<int>(kLanes.size());
  if (isEmpty()) return out;
  for (const PhaseRow& row : *rows_) out.cycles.push_back(row.cycles);
  return out;
}

QString PhaseLanes::tipText(int phase) const {
  const PhaseRow& row = (*rows_)[static_cast<std::size_t>(phase)];
  QString tip = "<b>" + QString::fromStdString(row.name).toHtmlEscaped() + "</b><br>" +
                QString::fromStdString(row.contents).toHtmlEscaped() + "<br>" + grouped(row.cycles) + tr(" cycles");
  for (const PhaseLane& lane : kLanes) {
    tip += QString("<br>%1: %2 cycles, %3 %")
               .arg(tr(lane.name), grouped(row.*lane.work), percent_of(row.*lane.work, row.cycles));
  }
  return tip;
}

void PhaseLanes::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(),
               tr("This plan has one phase: no weights are streamed while it computes. Plans with phases keep "
                  "them in Streaming Memory and load them for each."));
    return;
  }
  const PhaseLayout layout = layoutNow();
  for (std::size_t l = 0; l < kLanes.size(); ++l) {
    const int lane = static_cast<int>(l);
    const QRectF first = layout.cell(lane, 0);
    painter.setPen(theme.text);
    painter.setFont(ui_font(11.5));
    draw_text(painter, QRectF(12, first.top(), kLanesLeft - 20, first.height()), tr(kLanes[l].name));
    painter.fillRect(QRectF(layout.plot.left(), first.top() + 4, layout.plot.width(), first.height() - 8), theme.track);
    painter.setFont(ui_font(10));
    for (int phase = 0; phase < static_cast<int>(rows_->size()); ++phase) {
      const PhaseRow& row = (*rows_)[static_cast<std::size_t>(phase)];
      const QRectF bar = layout.busy(lane, phase, row.*kLanes[l].work);
      draw_fill(painter, bar, fill_of_kind(kLanes[l].kind));
      const QRectF whole = layout.cell(lane, phase);
      painter.fillRect(QRectF(whole.left(), whole.top() + 4, 1, whole.height() - 8), theme.panel);
      const QString text = percent_of(row.*kLanes[l].work, row.cycles) + " %";
      if (number_width(painter.font(), text) + 8 > whole.width() || whole.height() < 40) continue;
      const bool dark = fill_of_kind(kLanes[l].kind).color.lightnessF() < 0.55;
      painter.setPen(bar.height() <= 22 ? theme.text : dark ? QColor(Qt::white) : QColor(0x1B, 0x21, 0x27));
      const double y = bar.height() > 22 ? bar.top() + 3 : bar.top() - 16;
      draw_number(painter, QRectF(whole.left(), y, whole.width(), 14), text, Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  double free = layout.plot.left() - 1;
  for (int phase = 0; phase < static_cast<int>(rows_->size()); ++phase) {
    const QRectF cell = layout.cell(0, phase);
    const QString full = QString::fromStdString((*rows_)[static_cast<std::size_t>(phase)].name);
    const QString name = text_width(painter.font(), full) + 4 <= cell.width() ? full : full.section(' ', 1, 1);
    const double wide = text_width(painter.font(), name) + 2;
    const double at = cell.center().x() - wide / 2;
    if (at < free + 3) continue;
    draw_text(painter, QRectF(at, 1, wide, kLanesTop - 2), name);
    free = at + wide;
  }
  const double clock = report_->index().clock_hz();
  if (!(clock > 0)) return;
  const LinearScale time{static_cast<double>(layout.total()) / clock * 1e3, layout.plot.left(), layout.plot.right()};
  for (const double tick : nice_ticks(time.full, std::max(2, static_cast<int>(layout.plot.width() / 90)))) {
    const double x = std::floor(time.at(tick)) + 0.5;
    painter.drawLine(QPointF(x, layout.plot.bottom()), QPointF(x, layout.plot.bottom() + 4));
    draw_number(painter, QRectF(x - 40, layout.plot.bottom() + 6, 80, 15),
                fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0), Qt::AlignHCenter | Qt::AlignVCenter);
  }
}

bool PhaseLanes::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int phase = layoutNow().phase_at(help->pos().x());
  if (phase >= 0) {
    QToolTip::showText(help->globalPos(), tipText(phase), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
