// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/chip_grid.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/base/format.h"
#include "gui/paint/color_map.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kTileNumbers = 40;  // of tiles, at the left
constexpr int kRowsPerNumber = 8;

}  // namespace

ChipGrid::ChipGrid(Session& session, const HeatMap& map, QWidget* parent)
    : QWidget(parent), session_(session), map_(map) {
  setObjectName("chipGrid");
  setAccessibleName(tr("Tiles of the IPU in the phase"));
  setFocusPolicy(Qt::StrongFocus);
}

void ChipGrid::setPhase(int phase) {
  phase_ = phase;
  update();
}

ChipLayout ChipGrid::layoutNow() const {
  return ChipLayout::of(QRectF(rect()).adjusted(kTileNumbers, 8, -12, -4), session_.heat()->tiles);
}

void ChipGrid::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  const auto heat = session_.heat();
  if (phase_ < 0 || phase_ >= static_cast<int>(heat->phases.size())) {
    draw_empty(painter, theme, rect(), tr("Click a phase of the heat map: its tiles stand here."));
    return;
  }
  const ChipLayout layout = layoutNow();
  const HeatScale scale = map_.scaleNow();
  const ColorMap& colors = color_map(session_.colorMap());
  const double gap = layout.cell_size >= 5 ? 1 : 0;
  const HeatPhase& phase = heat->phases[static_cast<std::size_t>(phase_)];
  draw_fill(painter, layout.grid.adjusted(1, 1, -gap - 1, -gap - 1), {theme.track, Hatch::rising, theme.faint, {}});
  for (std::size_t r = phase.first_run; r < phase.first_run + phase.runs; ++r) {
    const TileRun& run = heat->runs[r];
    const auto value = static_cast<double>(value_of(phase, run, session_.heatState().quantity));
    const QColor color = scale.over(value) ? theme.limit : colors.at(scale.share(value));
    for (std::int64_t tile = run.first; tile < run.first + run.count; ++tile) {
      const QRectF cell = layout.cell(tile);
      painter.fillRect(cell, theme.panel);
      painter.fillRect(cell.adjusted(0, 0, -gap, -gap), color);
    }
  }
  painter.setFont(ui_font(10));
  painter.setPen(theme.secondary);
  const int step = std::max(1, static_cast<int>(std::ceil(14 / layout.cell_size)));
  for (std::int64_t row = 0; row < layout.rows(); row += std::max(step, kRowsPerNumber))
    draw_number(painter, QRectF(0, layout.cell(row * layout.columns).center().y() - 7, kTileNumbers - 6, 14),
                grouped(row * layout.columns));
  const std::int64_t selected = session_.selection().tile;
  if (selected >= 0 && selected < layout.tiles) draw_selection(painter, layout.cell(selected).adjusted(-2, -2, 1, 1));
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void ChipGrid::mousePressEvent(QMouseEvent* event) {
  const std::int64_t tile = phase_ < 0 ? -1 : tileAt(event->position());
  if (tile >= 0 && event->button() == Qt::LeftButton) emit tileChosen(tile);
}

void ChipGrid::keyPressEvent(QKeyEvent* event) {
  const ChipLayout layout = layoutNow();
  const std::int64_t step = event->key() == Qt::Key_Right  ? 1
                            : event->key() == Qt::Key_Left ? -1
                            : event->key() == Qt::Key_Down ? layout.columns
                            : event->key() == Qt::Key_Up   ? -layout.columns
                                                           : 0;
  if (step == 0 || phase_ < 0) return QWidget::keyPressEvent(event);
  const std::int64_t at = session_.selection().tile, to = at < 0 ? 0 : at + step;
  if (to >= 0 && to < layout.tiles) emit tileChosen(to);
}

bool ChipGrid::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::int64_t tile = phase_ < 0 ? -1 : tileAt(help->pos());
  if (tile < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), tr("Tile %1").arg(grouped(tile)), this);
  }
  return true;
}

}  // namespace superstep::gui
