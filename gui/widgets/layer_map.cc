// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/layer_map.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/paint/color_map.h"
#include "gui/paint/draw.h"
#include "gui/widgets/heat_map.h"

namespace superstep::gui {
namespace {

constexpr double kLayerNames = 20;  // of layers, below
constexpr double kLayersTop = 10, kLayersRight = 16;

}  // namespace

LayerMap::LayerMap(Session& session, const HeatMap& map, QWidget* parent)
    : QWidget(parent), session_(session), map_(map) {
  setObjectName("layerMap");
  setProperty("drawsTip", true);
  setAccessibleName(tr("Heat map of layers and their phases"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  const auto repaint = qOverload<>(&QWidget::update);
  connect(&session, &Session::heatStateChanged, this, repaint);
  connect(&session, &Session::unitsChanged, this, repaint);
  connect(&session, &Session::colorMapChanged, this, repaint);
  connect(&session, &Session::selectionChanged, this, repaint);
}

void LayerMap::setLayers(std::shared_ptr<const LayerHeat> layers) {
  layers_ = std::move(layers);
  hover_.reset();
  update();
}

GridLayout LayerMap::layoutNow() const {
  const PhaseGrid& grid = layers_->grid;
  double names = 0;
  for (const QString& name : grid.rows) names = std::max(names, text_width(ui_font(11), name));
  names = std::min(names, width() * 0.4) + 22;
  GridLayout out{QRectF(names, kLayersTop, std::max(10.0, width() - names - kLayersRight),
                        std::max(10.0, height() - kLayersTop - kLayerNames)),
                 static_cast<int>(grid.rows.size()), static_cast<int>(grid.columns.size())};
  if (!session_.heatState().by_cycles) return out;
  std::vector<double> ends{0};
  for (int column = 0; column < out.columns; ++column)
    ends.push_back(ends.back() + static_cast<double>(layers_->column_cycles(column)));
  if (!(ends.back() > 0)) return out;
  for (double& end : ends) out.edges.push_back(end / ends.back());
  return out;
}

std::optional<LayerCell> LayerMap::cellAt(const QPointF& position) const {
  const GridLayout layout = layoutNow();
  const LayerCell cell{layout.row_at(position.y()), layout.column_at(position.x())};
  return layers_->at(cell.row, cell.column) ? std::optional(cell) : std::nullopt;
}

QString LayerMap::tipText(const LayerCell& cell) const {
  const std::vector<int>& of = *layers_->at(cell.row, cell.column);
  const HeatQuantity quantity = session_.heatState().quantity;
  const HeatData& heat = *layers_->heat;
  const int phase = layers_->largest_phase(of, quantity);
  QStringList lines{QString::fromStdString(heat.phases[static_cast<std::size_t>(phase)].name) + "\t"};
  lines << tr("Largest of its tiles") + "\t" + map_.valueText(layers_->value(of, quantity));
  lines << tr("Cycles in a step") + "\t" + grouped(layers_->cycles(of));
  lines << tr("Active tiles") + "\t" + tr("%1 of %2").arg(grouped(active_tiles(heat, phase)), grouped(heat.tiles));
  if (of.size() > 1) lines << tr("Calls of this name") + "\t" + grouped(static_cast<std::int64_t>(of.size()));
  lines << tr("E for more") + "\t";
  return lines.join('\n');
}

void LayerMap::paintNames(QPainter& painter, const GridLayout& layout) const {
  const Theme& theme = theme_of(this);
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(11));
  double free = 0;  // where the last name ended: low rows and narrow columns have not all a name
  for (int row = 0; row < layout.rows; ++row) {
    const QRectF cell = layout.cell(row, 0);
    const QRectF name(12, cell.center().y() - 8, layout.cells.left() - 20, 16);
    if (name.top() < free) continue;
    draw_text(painter, name, layers_->grid.rows[row]);
    free = name.bottom() - 1;
  }
  painter.setFont(ui_font(10.5));
  free = 0;
  for (int column = 0; column < layout.columns; ++column) {
    const double left = layout.column_edge(column), wide = layout.column_edge(column + 1) - left;
    const QString& name = layers_->grid.columns[column];
    const double need = text_width(painter.font(), name) + 4;
    const double begin = std::min(left + (wide - need) / 2, layout.cells.right() - need);
    if (begin < free || begin < layout.cells.left() - need / 2) continue;
    painter.drawText(QRectF(begin, layout.cells.bottom() + 2, need, kLayerNames - 4), Qt::AlignCenter, name);
    free = begin + need + 4;
  }
}

void LayerMap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (layers_->grid.rows.empty()) {
    draw_empty(painter, theme, rect(), tr("The report has no values per tile and phase."));
    return;
  }
  const GridLayout layout = layoutNow();
  const HeatScale scale = map_.scaleNow();
  const ColorMap& colors = color_map(session_.colorMap());
  const HeatQuantity quantity = session_.heatState().quantity;
  for (int row = 0; row < layout.rows; ++row) {
    for (int column = 0; column < layout.columns; ++column) {
      QRectF cell = layout.cell(row, column);
      if (cell.width() > 4) cell.adjust(0, 0, -1, 0);
      if (cell.height() > 4) cell.adjust(0, 0, 0, -1);
      const std::vector<int>* of = layers_->at(row, column);
      if (!of) {
        draw_fill(painter, cell, {theme.track, Hatch::rising, theme.faint, {}});
        continue;
      }
      const auto value = static_cast<double>(layers_->value(*of, quantity));
      painter.fillRect(cell, scale.over(value) ? theme.limit : colors.at(scale.share(value)));
    }
  }
  paintNames(painter, layout);
  if (const auto cell = selected()) draw_selection(painter, layout.cell(cell->row, cell->column));
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
  if (hover_) {
    draw_tip(painter, layout.cells, layout.cell(hover_->row, hover_->column), tipText(*hover_).split('\n'), theme);
  }
}

std::optional<LayerCell> LayerMap::selected() const {
  const int phase = session_.selection().phase;
  for (int row = 0; phase >= 0 && row < layers_->grid.rows.size(); ++row) {
    for (int column = 0; column < layers_->grid.columns.size(); ++column) {
      const std::vector<int>* of = layers_->at(row, column);
      if (of && std::find(of->begin(), of->end(), phase) != of->end()) return LayerCell{row, column};
    }
  }
  return std::nullopt;
}

void LayerMap::select(const LayerCell& cell) {
  const std::vector<int>* of = layers_->at(cell.row, cell.column);
  if (!of) return;
  Selection selection = session_.selection();
  selection.phase = layers_->largest_phase(*of, session_.heatState().quantity);
  selection.ipu_class = layers_->heat->phases[static_cast<std::size_t>(selection.phase)].ipu_class;
  session_.select(selection);
}

void LayerMap::mousePressEvent(QMouseEvent* event) {
  const auto cell = cellAt(event->position());
  if (cell && event->button() == Qt::LeftButton) select(*cell);
}

void LayerMap::mouseMoveEvent(QMouseEvent* event) {
  const auto cell = cellAt(event->position());
  if (cell == hover_) return;
  hover_ = cell;
  emit hovered(cell ? layers_->value(*layers_->at(cell->row, cell->column), session_.heatState().quantity) : kNoValue);
  update();
}

void LayerMap::leaveEvent(QEvent*) {
  hover_.reset();
  emit hovered(kNoValue);
  update();
}

// To the next cell in a direction that has a phase.
void LayerMap::keyPressEvent(QKeyEvent* event) {
  const int across = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const int down = event->key() == Qt::Key_Up ? -1 : event->key() == Qt::Key_Down ? 1 : 0;
  if ((across == 0 && down == 0) || layers_->grid.rows.empty()) return QWidget::keyPressEvent(event);
  const auto now = selected();
  LayerCell cell = now ? LayerCell{now->row + down, now->column + across} : LayerCell{};
  while (cell.row >= 0 && cell.column >= 0 && cell.row < layers_->grid.rows.size() &&
         cell.column < layers_->grid.columns.size()) {
    if (layers_->at(cell.row, cell.column)) return select(cell);
    cell.row += now ? down : 1, cell.column += now ? across : 0;
  }
}

}  // namespace superstep::gui
