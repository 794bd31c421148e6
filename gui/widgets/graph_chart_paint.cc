// SPDX-License-Identifier: Apache-2.0
#include <QPainter>
#include <algorithm>

#include "gui/paint/draw.h"
#include "gui/widgets/graph_chart.h"

namespace superstep::gui {
namespace {

QColor mixed(const QColor& a, const QColor& b, double share_of_a) {
  const auto mix = [&](double x, double y) { return static_cast<float>(x * share_of_a + y * (1 - share_of_a)); };
  return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

struct Look {
  QColor fill, text;
  QPen frame;
};

QColor compute_color() { return fill_of_kind("compute").color; }
QColor stream_color() { return fill_of_kind("store").color; }

QColor state_fill(const Theme& theme, UnitState state) {
  switch (state) {
    case UnitState::running:
      return compute_color();
    case UnitState::done:
      return mixed(compute_color(), theme.panel, 0.42);
    case UnitState::waiting:
      return mixed(compute_color(), theme.panel, 0.13);
    default:
      return text_ground(theme);
  }
}

Look look_of(const Theme& theme, UnitState state) {
  Look look{state_fill(theme, state), theme.text, QPen(theme.frame, 1)};
  if (state == UnitState::running) look.text = Qt::white, look.frame = QPen(compute_color().darker(160), 2);
  if (state == UnitState::done || state == UnitState::waiting) look.frame = QPen(compute_color(), 1);
  if (state == UnitState::idle) look.text = theme.secondary;
  if (state == UnitState::loading) look.frame = QPen(stream_color(), 1.5, Qt::DashLine);
  if (state == UnitState::storing) look.frame = QPen(stream_color(), 1.5, Qt::DotLine);
  return look;
}

}  // namespace

std::vector<LegendEntry> GraphChart::legend() const {
  if (isEmpty()) return {};
  const Theme& theme = theme_of(this);
  const auto fill = [&](UnitState state) { return Fill{state_fill(theme, state), Hatch::none, {}, compute_color()}; };
  std::vector<LegendEntry> out{{fill(UnitState::running), tr("executes")},
                               {fill(UnitState::done), tr("done")},
                               {fill(UnitState::waiting), tr("waits")},
                               {{text_ground(theme), Hatch::none, {}, theme.frame}, tr("at rest")}};
  if (!shown_.phases->calls) {
    out.push_back({{theme.panel, Hatch::none, {}, stream_color(), Qt::DashLine}, tr("loading")});
    out.push_back({{theme.panel, Hatch::none, {}, stream_color(), Qt::DotLine}, tr("storing")});
  }
  const int classes = shown_.report->index().ipu_classes_size();
  for (int i = 0; i < std::min(classes, 16); ++i) {
    out.push_back({{ipu_color(theme, i), Hatch::none, {}, QColor(0, 0, 0, 110)}, shown_.ipuName(i)});
  }
  return out;
}

// What a frame says beside its number.
QString GraphChart::frameText(int group) const {
  const QString number = tr(shown_.phases->calls ? "stage %1" : "phase %1").arg(group);
  if (moment_->phase < 0) return number;
  const GraphPhase& phase = shown_.phases->list[static_cast<std::size_t>(moment_->phase)];
  QStringList words;
  if (phase.number == group) words << QString::fromStdString(phase.pass);
  if (moment_->loading == group) words << tr("loading");
  if (moment_->storing == group) words << tr("storing");
  return words.isEmpty() ? number : number + "  " + words.join(", ");
}

void GraphChart::paintFrames(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const int running = moment_->phase < 0 ? -1 : shown_.phases->list[static_cast<std::size_t>(moment_->phase)].number;
  painter.setRenderHint(QPainter::Antialiasing, false);
  // Those that say something over the plain ones they touch.
  for (const bool plain : {true, false}) {
    for (const GraphLayout::Frame& frame : layout_.frames) {
      const bool runs = frame.group == running, loads = frame.group == moment_->loading;
      const bool stores = frame.group == moment_->storing && !runs;
      if (plain != !(runs || loads || stores)) continue;
      QPen pen(theme.frame, 1);
      if (stores) pen = QPen(stream_color(), 2, Qt::DotLine);
      if (loads) pen = QPen(stream_color(), 2, Qt::DashLine);
      if (runs) pen = QPen(compute_color(), 2);
      painter.setPen(pen);
      painter.setBrush(runs ? mixed(compute_color(), theme.panel, 0.05) : QColor(Qt::transparent));
      painter.drawPath(frame.path);
      painter.setPen(runs              ? compute_color().darker(theme.dark ? 90 : 130)
                     : loads || stores ? stream_color()
                                       : theme.secondary);
      if (theme.dark && (loads || stores)) painter.setPen(stream_color().lighter(150));
      painter.setFont(ui_font(10.5, plain ? QFont::Normal : QFont::DemiBold));
      QString text = frameText(frame.group);
      if (text_width(painter.font(), text) > frame.label.width()) text = QString::number(frame.group);
      if (text_width(painter.font(), text) <= frame.label.width()) draw_text(painter, frame.label, text);
    }
  }
}

void GraphChart::paintArrows(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  painter.setPen(QPen(theme.faint, 1));
  const auto head = [&](QPointF tip) {
    painter.setBrush(theme.faint);
    painter.drawPolygon(QPolygonF({tip, tip + QPointF(-5, -3), tip + QPointF(-5, 3)}));
  };
  const auto beside = [&](const QRectF& a, const QRectF& b) {
    painter.drawLine(QPointF(a.right() + 1, a.center().y()), QPointF(b.left() - 3, a.center().y()));
    head({b.left() - 2, a.center().y()});
  };
  for (const GraphEdge& edge : shown_.graph->edges) {
    const auto& from = layout_.blocks[static_cast<std::size_t>(edge.from)];
    const auto& to = layout_.blocks[static_cast<std::size_t>(edge.to)];
    if (from.cell || to.cell) continue;
    if (from.line == to.line && edge.to == edge.from + 1) beside(from.rect, to.rect);
    if (to.line != from.line + 1) continue;
    const double gap = from.rect.bottom() + 6.5, left = GraphLayout::kLeft - 7.5;
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(QPolygonF(
        {QPointF(from.rect.center().x(), from.rect.bottom() + 1), QPointF(from.rect.center().x(), gap),
         QPointF(left, gap), QPointF(left, to.rect.center().y()), QPointF(to.rect.left() - 8, to.rect.center().y())}));
    head({to.rect.left() - 7, to.rect.center().y()});
  }
  // The folded kinds stand for their layers.
  const auto& folds = layout_.folds;
  for (std::size_t i = 0; i + 1 < folds.size(); ++i) {
    if (folds[i].line == folds[i + 1].line) beside(folds[i].rect, folds[i + 1].rect);
  }
  if (folds.empty()) return;
  const int first = folds.front().units.front(), end = folds.back().units.back() + 1;
  if (first > 0) beside(layout_.blocks[static_cast<std::size_t>(first - 1)].rect, folds.front().rect);
  if (end < static_cast<int>(layout_.blocks.size()) &&
      layout_.blocks[static_cast<std::size_t>(end)].line == folds.back().line) {
    beside(folds.back().rect, layout_.blocks[static_cast<std::size_t>(end)].rect);
  }
}

// `unit` -1: a kind of which none runs.
void GraphChart::paintBlock(QPainter& painter, const QRectF& rect, int unit, const QString& name,
                            const QString& corner) const {
  const Theme& theme = theme_of(this);
  const UnitState state = unit < 0 ? UnitState::idle : stateOf(unit);
  const Look look = look_of(theme, state);
  const bool lit = state == UnitState::running;
  painter.fillRect(rect, look.fill);
  const QRectF head(rect.left(), rect.top(), rect.width(), GraphLayout::kHead);
  QColor ink = theme.text;
  if (unit >= 0) {
    const QColor ipu = ipu_color(theme, shown_.graph->units[static_cast<std::size_t>(unit)].ipu_class);
    painter.fillRect(head, lit ? ipu : mixed(ipu, theme.panel, theme.dark ? 0.35 : 0.18));
    painter.fillRect(QRectF(head.left(), head.top(), 4, head.height()), ipu);
    if (lit) ink = ink_on(ipu);
  } else {
    painter.fillRect(head, theme.title_row);
  }
  painter.setFont(ui_font(10));
  const double corner_width = corner.isEmpty() ? 0 : text_width(painter.font(), corner) + 6;
  painter.setPen(lit || unit < 0 ? ink : theme.secondary);
  draw_text(painter, head.adjusted(4, 0, -5, 0), corner, Qt::AlignRight | Qt::AlignVCenter);
  painter.setFont(ui_font(11, QFont::DemiBold));
  painter.setPen(ink);
  draw_text(painter, head.adjusted(9, 0, -corner_width - 4, 0), name);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(look.frame);
  painter.drawRect(rect);
}

void GraphChart::paintFold(QPainter& painter, const GraphLayout::Fold& fold) const {
  const int unit = shownUnit(fold);
  const QString times = QString(QChar(0x00D7)) + QString::number(fold.units.size());
  paintBlock(painter, fold.rect, unit, fold.name, times);
  const Theme& theme = theme_of(this);
  const QRectF body = fold.rect.adjusted(8, GraphLayout::kHead, -6, 0);
  painter.setFont(ui_font(11));
  painter.setPen(unit < 0 ? theme.secondary : QColor(Qt::white));
  if (unit < 0) return draw_text(painter, body, tr("at rest"));
  const GraphUnit& running = shown_.graph->units[static_cast<std::size_t>(unit)];
  const auto count =
      std::count_if(fold.units.begin(), fold.units.end(), [&](int u) { return stateOf(u) == UnitState::running; });
  const QString layer = tr("layer %1").arg(running.layer);
  draw_text(painter, body, count > 1 ? tr("%1, %2 more").arg(layer).arg(count - 1) : layer);
}

void GraphChart::paintCell(QPainter& painter, int unit) const {
  const Theme& theme = theme_of(this);
  const QRectF rect = layout_.blocks[static_cast<std::size_t>(unit)].rect;
  const Look look = look_of(theme, stateOf(unit));
  painter.fillRect(rect, look.fill);
  const QColor ipu = ipu_color(theme, shown_.graph->units[static_cast<std::size_t>(unit)].ipu_class);
  painter.fillRect(QRectF(rect.left(), rect.top(), rect.width(), 3), ipu);
  if (stateOf(unit) == UnitState::idle) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(look.frame);
  painter.drawRect(rect);
}

void GraphChart::paintTitles(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  for (const GraphLayout::Row& row : layout_.rows) {
    const double middle = row.rect.top() + std::min(row.rect.height() / 2, 40.0);
    const QRectF name(12, row.detail.isEmpty() ? row.rect.top() - 1 : middle - 15, GraphLayout::kLeft - 26, 16);
    painter.setFont(ui_font(11.5, QFont::DemiBold));
    painter.setPen(theme.text);
    draw_text(painter, name, row.title);
    painter.setFont(ui_font(10.5));
    painter.setPen(theme.secondary);
    draw_text(painter, name.translated(0, 16), row.detail);
  }
  // Layer numbers over the columns of the map and, where it is high enough, kinds beside its rows.
  painter.setFont(ui_font(10));
  painter.setPen(theme.secondary);
  if (layout_.folds.empty()) return;
  for (const GraphLayout::Fold& fold : layout_.folds) {
    int line = -1;
    for (const int unit : fold.units) {
      const GraphLayout::Block& block = layout_.blocks[static_cast<std::size_t>(unit)];
      if (block.line == line) continue;
      line = block.line;
      draw_text(painter, QRectF(12, block.rect.center().y() - 7, GraphLayout::kLeft - 16, 14), fold.name);
    }
  }
  double free = -1, line = -1;
  for (const int unit : layout_.folds.front().units) {
    const GraphLayout::Block& block = layout_.blocks[static_cast<std::size_t>(unit)];
    if (block.line != line) free = -1, line = block.line;
    const double wide = text_width(painter.font(), block.name), at = block.rect.center().x() - wide / 2;
    if (at < free) continue;
    draw_number(painter, QRectF(at - 2, block.rect.top() - 29, wide + 4, 13), block.name, Qt::AlignCenter);
    free = at + wide + 5;
  }
}

void GraphChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(), emptyText());
    return;
  }
  paintArrows(painter);
  paintFrames(painter);
  paintTitles(painter);
  for (const GraphLayout::Fold& fold : layout_.folds) paintFold(painter, fold);
  for (int unit = 0; unit < static_cast<int>(layout_.blocks.size()); ++unit) {
    const GraphLayout::Block& block = layout_.blocks[static_cast<std::size_t>(unit)];
    if (block.cell) {
      paintCell(painter, unit);
      continue;
    }
    const GraphUnit& shown = shown_.graph->units[static_cast<std::size_t>(unit)];
    paintBlock(painter, block.rect, unit, block.name, shown_.ipuName(shown.ipu_class));
    const UnitState state = stateOf(unit);
    const QRectF body = block.rect.adjusted(9, GraphLayout::kHead, -6, 0);
    painter.setFont(ui_font(10.5));
    painter.setPen(look_of(theme, state).text);
    draw_text(painter, body, word_of(state));
    draw_number(painter, body, megabytes(shown.weight_bytes) + " MB");
  }
  if (hasFocus() && focused_ >= 0) draw_selection(painter, layout_.blocks[static_cast<std::size_t>(focused_)].rect);
}

}  // namespace superstep::gui
