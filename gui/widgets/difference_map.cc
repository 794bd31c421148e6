// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/difference_map.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kDifferenceNames = 18;  // of layers, below
constexpr double kLegend = 20;           // above

QColor color_between(const QColor& from, const QColor& to, double share) {
  const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
  return {mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue())};
}

}  // namespace

DifferenceMap::DifferenceMap(QWidget* parent) : QWidget(parent) {
  setObjectName("differenceMap");
  setAccessibleName(tr("Differences by layer and phase"));
}

std::optional<double> DifferenceMap::difference(int phase) const { return compared_->phaseDifference(phase, 1); }

void DifferenceMap::setComparison(ComparedPointer compared) {
  compared_ = std::move(compared);
  grid_ = phase_grid(*compared_);
  most_ = 0;
  for (const auto& row : grid_.phases) {
    for (const int phase : row) {
      if (phase >= 0) most_ = std::max(most_, std::abs(difference(phase).value_or(0)));
    }
  }
  update();
}

GridLayout DifferenceMap::layoutNow() const {
  double names = 0;
  for (const QString& name : grid_.rows) names = std::max(names, text_width(ui_font(10.5), name));
  names = std::min(names, width() * 0.4) + 20;
  return {QRectF(names, kLegend, std::max(10.0, width() - names - 12),
                 std::max(10.0, height() - kLegend - kDifferenceNames)),
          static_cast<int>(grid_.rows.size()), static_cast<int>(grid_.columns.size())};
}

void DifferenceMap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (grid_.rows.empty()) {
    draw_empty(painter, theme, rect(), tr("Nothing to compare."));
    return;
  }
  const GridLayout layout = layoutNow();
  painter.setFont(ui_font(10.5));
  double free = 0;  // where the last name ended: low rows have not all a name
  for (int row = 0; row < layout.rows; ++row) {
    const QRectF cell = layout.cell(row, 0);
    painter.setPen(theme.secondary);
    const QRectF name(10, cell.center().y() - 7, cell.left() - 16, 14);
    if (name.top() >= free) {
      draw_text(painter, name, grid_.rows[row]);
      free = name.bottom() - 1;
    }
    for (int column = 0; column < layout.columns; ++column) {
      const int phase = grid_.phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
      if (phase < 0) continue;
      const QRectF at = layout.cell(row, column).adjusted(0, 0, -1, -1);
      const auto ms = difference(phase);
      if (!ms) {  // only one side has it
        draw_fill(painter, at, {theme.track, Hatch::rising, theme.faint, {}});
        continue;
      }
      const double share = most_ > 0 ? std::abs(*ms) / most_ : 0;
      painter.fillRect(at, color_between(theme.track, difference_fill(theme, *ms < 0 ? 1 : -1).color,
                                         *ms == 0 ? 0 : 0.15 + 0.85 * share));
    }
  }
  const int every = layout.name_every(26);
  for (int column = 0; column < layout.columns; column += every) {
    const QRectF cell = layout.cell(layout.rows - 1, column);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(10));
    const QString name = grid_.columns[column];
    const QRectF below(cell.left(), layout.cells.bottom() + 2,
                       std::min(cell.width() * every, layout.cells.right() - cell.left()), kDifferenceNames - 3);
    draw_text(painter, below, name);
  }
  // The scale: from the best to the worst.
  painter.setFont(ui_font(10));
  const QString text = fixed_decimals(most_, 1) + tr(" ms");
  const double wide = number_width(painter.font(), text);
  const double bar = 90, right = layout.cells.right();
  painter.setPen(theme.secondary);
  draw_number(painter, QRectF(right - wide, 0, wide, kLegend - 2), "+" + text);
  for (int i = 0; i < static_cast<int>(bar); ++i) {
    const double at = i / bar * 2 - 1;
    painter.fillRect(
        QRectF(right - wide - 14 - bar + i, 5, 1, 8),
        color_between(theme.track, difference_fill(theme, at < 0 ? 1 : -1).color, 0.15 + 0.85 * std::abs(at)));
  }
  painter.setPen(theme.secondary);
  draw_number(painter, QRectF(right - 2 * wide - bar - 32, 0, wide + 12, kLegend - 2), QChar(0x2212) + text);
}

QString DifferenceMap::tipText(int row, int column) const {
  const int phase = grid_.phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  if (phase < 0) return {};
  const ComparedCycles& cycles = compared_->phases[static_cast<std::size_t>(phase)];
  QString tip = "<b>" + QString::fromStdString(cycles.name).toHtmlEscaped() + "</b>";
  for (int r = 0; r < 2; ++r) {
    const auto& here = cycles.cycles[static_cast<std::size_t>(r)];
    tip += "<br>" + compared_->side(r) + ": " + (here ? grouped(*here) + tr(" cycles a step") : tr("does not have it"));
  }
  if (const auto ms = difference(phase)) tip += "<br>" + fixed_decimals(*ms, 2) + tr(" ms");
  return tip;
}

void DifferenceMap::mousePressEvent(QMouseEvent* event) {
  const GridLayout layout = layoutNow();
  const int row = layout.row_at(event->position().y()), column = layout.column_at(event->position().x());
  if (row < 0 || column < 0) return;
  const int phase = grid_.phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  if (phase >= 0) emit phaseClicked(QString::fromStdString(compared_->phases[static_cast<std::size_t>(phase)].name));
}

bool DifferenceMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const GridLayout layout = layoutNow();
  const int row = layout.row_at(help->pos().y()), column = layout.column_at(help->pos().x());
  const QString text = row < 0 || column < 0 ? QString() : tipText(row, column);
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text, this);
  }
  return true;
}

}  // namespace superstep::gui
