// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/graph_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>

namespace superstep::gui {

GraphChart::GraphChart(QWidget* parent) : QWidget(parent) {
  setObjectName("graphChart");
  setAccessibleName(tr("Model graph by units, lit where it executes"));
  setFocusPolicy(Qt::StrongFocus);
}

void GraphChart::setGraph(GraphShown shown) {
  shown_ = std::move(shown);
  moment_ = std::make_shared<GraphMoment>();
  focused_ = -1;
  place();
}

void GraphChart::setMoment(std::shared_ptr<const GraphMoment> moment) {
  moment_ = std::move(moment);
  update();
}

void GraphChart::setRoom(int height) {
  if (height == room_) return;
  room_ = height;
  place();
}

void GraphChart::place() {
  std::vector<LayoutUnit> units;
  if (!isEmpty()) {
    for (const GraphUnit& unit : shown_.graph->units) {
      units.push_back({unit.name, unit.layer, group_of(*shown_.phases, unit)});
    }
  }
  layout_ = GraphLayout::of(units, width(), room_);
  setMinimumHeight(std::max(60, static_cast<int>(layout_.height)));
  update();
}

void GraphChart::resizeEvent(QResizeEvent* event) {
  if (event->size().width() != event->oldSize().width()) place();
}

UnitState GraphChart::stateOf(int unit) const {
  const auto at = static_cast<std::size_t>(unit);
  return at < moment_->units.size() ? moment_->units[at] : UnitState::idle;
}

int GraphChart::shownUnit(const GraphLayout::Fold& fold) const {
  const auto at =
      std::find_if(fold.units.begin(), fold.units.end(), [&](int u) { return stateOf(u) == UnitState::running; });
  return at == fold.units.end() ? -1 : *at;
}

int GraphChart::unitUnder(QPointF point) const {
  const int unit = layout_.unit_at(point);
  if (unit >= 0) return unit;
  const int fold = layout_.fold_at(point);
  if (fold < 0) return -1;
  const auto& units = layout_.folds[static_cast<std::size_t>(fold)];
  return shownUnit(units) >= 0 ? shownUnit(units) : units.units.front();
}

QString GraphChart::emptyText() const {
  if (!shown_.report) return {};
  return shown_.report->index().has_plan()
             ? tr("This report does not hold the model graph: it was written by an older version. Plan or estimate the "
                  "job again, and open the new report.")
             : tr("There is no plan, so nothing runs: the summary says why. A plan that is pinned in a job opens here "
                  "also when it does not fit.");
}

QString GraphChart::tipText(int unit) const {
  const GraphUnit& u = shown_.graph->units[static_cast<std::size_t>(unit)];
  QString tip = "<b>" + QString::fromStdString(u.name).toHtmlEscaped() + "</b><br>" + shown_.ipuName(u.ipu_class) +
                tr(", stage %1, phase %2").arg(u.stage).arg(u.phase) +
                tr("<br>weights %1 bytes, %2 parameters").arg(grouped(u.weight_bytes), grouped(u.parameters));
  for (const GraphEdge& edge : shown_.graph->edges) {
    if (edge.to != unit) continue;
    const GraphUnit& from = shown_.graph->units[static_cast<std::size_t>(edge.from)];
    tip += tr("<br>takes %1 bytes from %2").arg(grouped(edge.bytes), QString::fromStdString(from.name));
  }
  const QString state = word_of(stateOf(unit));
  return state.isEmpty() ? tip : tip + tr("<br>at the cursor: %1").arg(state);
}

void GraphChart::mousePressEvent(QMouseEvent* event) {
  const int unit = event->button() == Qt::LeftButton ? unitUnder(event->position()) : -1;
  if (unit < 0) return;
  focused_ = unit;
  emit unitClicked(unit);
}

void GraphChart::keyPressEvent(QKeyEvent* event) {
  const int units = isEmpty() ? 0 : static_cast<int>(shown_.graph->units.size());
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  const bool chosen = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (units == 0 || (step == 0 && !chosen)) return QWidget::keyPressEvent(event);
  if (step != 0) {
    focused_ = std::clamp(focused_ + step, 0, units - 1);
    update();
  } else if (focused_ >= 0) {
    emit unitClicked(focused_);
  }
}

bool GraphChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int unit = unitUnder(help->pos());
  if (unit >= 0) {
    QToolTip::showText(help->globalPos(), tipText(unit), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
